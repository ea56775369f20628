import type { ClientMetadata } from 'oidc-provider';
import type { FrontDoor } from '../model/front-door.ts';
import { applicationType, jwtBearerGrant } from './client-policy.ts';
import { APPROVAL_CLIENT } from './client-facts.ts';
import type { ScopeRules } from './scope-rules.ts';
import { texts } from './texts.ts';

/** The clients that need no registration: those of the operator, and the gateway, which only introspects. */
export function registeredClients(
  frontDoor: FrontDoor,
  scopes: ScopeRules,
  hasApprovals: boolean,
): readonly ClientMetadata[] {
  const asserting = new Set([...frontDoor.assertions.values()].flatMap(({ clients }) => clients));
  const own = [...frontDoor.clients.registered].map(([id, client]): ClientMetadata => {
    // Of `:*` oidc-provider ignores every port of a loopback address.
    const redirectUris = client.redirectUris.map((uri) => uri.replace(/^(http:\/\/[^/]*):\*/, '$1'));
    return {
      client_id: id,
      client_name: client.name,
      client_secret: client.secret,
      // oidc-provider also accepts the same secret in the body.
      token_endpoint_auth_method: client.secret === undefined ? 'none' : 'client_secret_basic',
      application_type: applicationType(redirectUris),
      redirect_uris: redirectUris,
      grant_types: [
        'authorization_code',
        ...(client.refresh ? ['refresh_token'] : []),
        ...(asserting.has(id) ? [jwtBearerGrant] : []),
      ],
      response_types: ['code'],
      scope: `openid ${scopes.all}`,
    };
  });
  const page: ClientMetadata = {
    client_id: APPROVAL_CLIENT,
    client_name: texts.approval.title,
    token_endpoint_auth_method: 'none',
    application_type: applicationType([frontDoor.issuer]),
    redirect_uris: [`${frontDoor.issuer}/approval`],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    scope: `openid ${scopes.all}`,
  };
  return [
    ...own,
    ...(hasApprovals ? [page] : []),
    {
      client_id: 'gateway',
      client_secret: frontDoor.gatewaySecret,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: [],
      response_types: [],
      redirect_uris: [],
    },
  ];
}
