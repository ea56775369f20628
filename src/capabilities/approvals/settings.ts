import type { GatewayKeys } from '../../../schema/validators.js';
import type { ApprovalSettings } from '../../ports/approval-settings.ts';
import type { ConfigReferents } from '../capability.ts';
import type { Field } from '../../core/config/field.ts';
import { serverIn } from '../../tokens/servers/settings.ts';
import { ownEndpoint, requireOwnAudience } from '../own-endpoint.ts';

type ApprovalsKeys = NonNullable<GatewayKeys['approvals']>;

/** `approvals`. Problems are reported to the fields, and the result is then not used. */
export function readApprovals(
  field: Field<ApprovalsKeys>,
  { publicUrl, servers, routes, rate, claimPath }: ConfigReferents,
): ApprovalSettings {
  const { path, audience = publicUrl + path, backchannel = publicUrl } = field.settings();
  claimPath({ path, isApart: true, owner: 'approvals', at: field.get('path') });
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
