import type { ClientMetadata } from 'oidc-provider';

/** RFC 8693 §2.1. */
export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The gateway: the only resource server, so the only client that may introspect and exchange tokens. */
export function gatewayClient(secret: string): ClientMetadata {
  return {
    client_id: 'gateway',
    client_name: 'Gateway',
    client_secret: secret,
    // oidc-provider also accepts the same secret in the body.
    token_endpoint_auth_method: 'client_secret_basic',
    // The latter for its own tokens, which identify it as the actor.
    grant_types: [tokenExchangeGrant, 'client_credentials'],
    response_types: [],
    redirect_uris: [],
  };
}

/** A trusted client of the demo API. It gets JWTs and, except for high privileges, refresh tokens. */
export const demoApiClient: ClientMetadata = {
  client_id: 'demo-api-client',
  client_name: 'Demo API client',
  client_secret: 'demo-api-secret',
  token_endpoint_auth_method: 'client_secret_post',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  // Native: any port of the loopback address, RFC 8252 §7.3.
  application_type: 'native',
  redirect_uris: ['http://127.0.0.1/callback'],
};
