import type { GatewayKeys } from '../../../schema/validators.js';
import type { ApprovalSettings } from '../../ports/approval-settings.ts';
import type { ConfigReferents } from '../capability.ts';
import type { Field } from '../../core/config/field.ts';
import { isAtOrBelow } from '../../core/lib/http/path-flaw.ts';
import { quoted } from '../../core/lib/wording.ts';
import { serverIn } from '../../core/config/credentials.ts';
import { ownEndpoint, requireOwnAudience } from '../../core/config/endpoints.ts';

type ApprovalsKeys = NonNullable<GatewayKeys['approvals']>;

/** `approvals`. Problems are reported to the fields, and the result is then not used. */
export function readApprovals(
  field: Field<ApprovalsKeys>,
  { publicUrl, servers, routes, rate }: ConfigReferents,
): ApprovalSettings {
  const { path, audience = publicUrl + path, backchannel = publicUrl } = field.settings();
  // A route at `/` leaves it what is longer. The path of a route that has a problem is empty.
  const below = routes.find(
    ({ path: other }) => other.length > 1 && (isAtOrBelow(path, other) || isAtOrBelow(other, path)),
  );
  if (below !== undefined)
    field.get('path').addProblem(`${quoted(path)} and the path of route ${below.name} lie below each other`);
  requireOwnAudience(field.get('audience'), audience, { routes, risk: 'approve their own calls' });
  return {
    url: publicUrl + path,
    backchannel: backchannel + path,
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
      authorizationServers: field.get('authorization_servers').list(serverIn(servers)),
      audiences: [audience],
      rate,
      below: 'pass',
      query: 'pass',
    }),
    notify: field.get('notify').settings(),
  };
}
