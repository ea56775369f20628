import type { GatewayKeys } from '../../../schema/validators.js';
import type { ApprovalSettings } from '../../ports/approval-settings.ts';
import type { ConfigReferents } from '../capability.ts';
import type { Field } from '../../core/config/field.ts';
import { isAtOrBelow } from '../../core/lib/http/path-flaw.ts';
import { serverIn } from '../../core/config/credentials.ts';
import { ownEndpoint, requireOwnAudience } from '../../core/config/endpoints.ts';
import { pageUrl, plainUrl, resourceUri, routePath } from '../../core/config/values.ts';

/** `approvals`. Problems are reported to the fields, and the result is then not used. */
export function readApprovals(
  field: Field<GatewayKeys['approvals']>,
  { publicUrl, servers, routes, rate }: ConfigReferents,
): ApprovalSettings {
  const path = field.get('path').read(routePath) ?? '';
  const below = routes.find((route) => isAtOrBelow(path, route.path) || isAtOrBelow(route.path, path));
  if (below !== undefined && below.path !== '/') {
    field
      .get('path')
      .addProblem(`${field.get('path').quoted()} and the path of route ${below.name} lie below each other`);
  }
  const audienceField = field.get('audience');
  const audience = audienceField.read(resourceUri) ?? publicUrl + path;
  const risk = 'approve their own calls';
  requireOwnAudience(audienceField, audience, { routes, risk });
  const trusted = field.get('authorization_servers').list(serverIn(servers));
  const notify = field.get('notify');
  return {
    url: publicUrl + path,
    backchannel: (field.get('backchannel').read(plainUrl) ?? publicUrl) + path,
    // Approvers' tokens are validated as those of any other route.
    route: ownEndpoint({
      name: 'approvals',
      path,
      methods: new Set(['GET', 'HEAD', 'POST', 'OPTIONS']),
      resource: {
        name: undefined,
        scopesSupported: undefined,
        documentation: undefined,
        policyUri: undefined,
        tosUri: undefined,
      },
      authorizationServers: trusted,
      audiences: [audience],
      rate,
      below: 'pass',
      query: 'pass',
    }),
    notify: notify.present
      ? { url: notify.get('url').read(pageUrl) ?? '', secret: notify.get('secret').text() ?? '' }
      : undefined,
  };
}
