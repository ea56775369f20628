import { randomBytes } from 'node:crypto';
import { type ClientMetadata, errors } from 'oidc-provider';
import { type ClientPolicy, policyMembers } from '../../src/front-door/client-policy.ts';
import { dynamicClientScope, knownScopes } from './resources.ts';

/** RFC 8693 §2.1. */
export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

export const gatewayId = 'gateway';

/** The gateway: the only resource server, so the only client that may introspect and exchange tokens. */
export const gatewayClient: ClientMetadata = {
  client_id: gatewayId,
  client_name: 'Gateway',
  client_secret: 'gateway-secret',
  // oidc-provider also accepts the same secret in the body.
  token_endpoint_auth_method: 'client_secret_basic',
  // The latter for its own tokens, which identify it as the actor.
  grant_types: [tokenExchangeGrant, 'client_credentials'],
  response_types: [],
  redirect_uris: [],
};

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

/** The authentication context of a user name and a password, the only one of the demo. */
export const passwordAcr = 'urn:sallyport:demo:acr:password';

/**
 * The policy that sets the settings of every external client, whether it registered itself (RFC 7591) or has a metadata
 * document. The policy takes only the name and the redirect URIs from the client and replaces everything else (RFC 7591
 * §3.2.1 allows it), so that a client cannot get more than the demo grants:
 *
 * - no refresh tokens, PKCE, the user's consent each time;
 * - its own secret, in the body, also for a client that requested to be public. Only a client with a metadata document,
 *   which cannot contain a secret, is public;
 * - the whole scope of dynamic clients, not the narrower one of its request. The official MCP clients register with the
 *   scope of their first challenge, so that they could not step up later. The user decides the scope of each token.
 *   For servers that keep to the request, routes have `first_challenge: supported`; but then a client asks for every
 *   scope at its first sign-in, and the demo would have no step-up to show.
 *
 * @param keepsRegisteredScope Whether a registration with a scope keeps that scope, as such servers do.
 */
export function dynamicClientPolicy(accessTokenTtl: number, keepsRegisteredScope: boolean): ClientPolicy {
  return {
    properties: policyMembers,
    validator(ctx, key, _value, metadata) {
      // oidc-provider calls this once for each property.
      if (key !== policyMembers[0]) return;
      // Without a context, the client is read from storage, or from its metadata document.
      if (ctx?.oidc.route !== 'registration' && !isMetadataDocument(metadata.client_id)) return;
      requireSafeRedirects(metadata.redirect_uris);
      const scope = keepsRegisteredScope ? registeredScope(metadata) : dynamicClientScope;
      const settings = dictatedSettings(metadata, scope, accessTokenTtl);
      for (const name of Object.keys(metadata)) delete metadata[name];
      Object.assign(metadata, settings);
    },
  };
}

function registeredScope({ scope }: ClientMetadata): string {
  const asked = new Set(knownScopes(scope ?? dynamicClientScope));
  return dynamicClientScope
    .split(' ')
    .filter((name) => asked.has(name))
    .join(' ');
}

function dictatedSettings(asked: ClientMetadata, scope: string, accessTokenTtl: number): ClientMetadata {
  const credential = isMetadataDocument(asked.client_id)
    ? { token_endpoint_auth_method: 'none' as const, token_endpoint_auth_methods: ['none'] }
    : {
        client_id_issued_at: asked.client_id_issued_at,
        client_secret: randomBytes(32).toString('base64url'),
        client_secret_expires_at: 0,
        token_endpoint_auth_method: 'client_secret_post' as const,
        token_endpoint_auth_methods: ['client_secret_post'],
      };
  return {
    client_id: asked.client_id,
    ...credential,
    ...(asked.client_name !== undefined && { client_name: asked.client_name }),
    // Native: the loopback port may change with every start of the client, RFC 8252 §7.3.
    application_type: asked.redirect_uris?.every(isLoopback) ? 'native' : 'web',
    redirect_uris: asked.redirect_uris,
    post_logout_redirect_uris: [],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    scope,
    subject_type: 'public',
    access_token_ttl: accessTokenTtl,
    require_proof_key: true,
    requires_consent: true,
  };
}

/** Whether a client's identifier is the URL of its metadata. */
function isMetadataDocument(clientId: string): boolean {
  return clientId.startsWith('https://');
}

// A code must not be sent over the network in plain text, nor to any app that claims a private scheme.
function requireSafeRedirects(redirectUris: unknown): void {
  if (!Array.isArray(redirectUris) || redirectUris.every((uri) => isHttps(uri) || isLoopback(uri))) return;
  throw new errors.InvalidClientMetadata('redirect_uris must be https URLs, or http URLs of a loopback address');
}

function isHttps(uri: unknown): boolean {
  return typeof uri === 'string' && URL.parse(uri)?.protocol === 'https:';
}

function isLoopback(uri: unknown): boolean {
  const url = typeof uri === 'string' ? URL.parse(uri) : null;
  return url?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}
