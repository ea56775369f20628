import {
  errors,
  Provider,
  type AccessToken,
  type Client,
  type ClientCredentials,
  type ClientMetadata,
  type Configuration,
  type KoaContextWithOIDC,
  type RefreshToken,
} from 'oidc-provider';

import type { Accounts } from './accounts.ts';
import { consentPolicy } from './consent-policy.ts';
import { dynamicClientPolicy, passwordAcr } from './dynamic-clients.ts';
import { interactionPath } from './interactions.ts';
import { addDefaults } from './middleware.ts';
import { freshState, showPage, tokenKey } from './provider-parts.ts';
import { resourceServer, type Resources } from './resources.ts';
import { isHighPrivilege, scopeRules } from './scopes.ts';
import { errorPage, signedOutPage, signOutPage } from './small-pages.ts';
import { createTokenClaims } from './token-claims.ts';
import { addTokenExchange } from './token-exchange.ts';
import { nameGrants } from '../../src/front-door/token-ids.ts';
import { createReplayMemory } from '../../src/store/replay.ts';

/** The parts of one authorization server. Lifetimes are in seconds. */
export interface ProviderOptions {
  readonly issuer: string;
  readonly accounts: Accounts;
  readonly resources: Resources;
  /** The preconfigured clients, which are trusted. */
  readonly clients: readonly ClientMetadata[];
  /** The clients that are resource servers and may introspect. */
  readonly resourceServerIds: ReadonlySet<string>;
  /** Whether tokens may be bound to a key, RFC 9449. */
  readonly dpop: boolean;
  /** URLs of client metadata documents. A URL that ends with a slash accepts all below it. */
  readonly clientDocuments: readonly string[];
  readonly fetchClientDocument?: typeof fetch;
  /** Whether a client that registers gets the scope of its request, and never more. */
  readonly keepsRegisteredScope: boolean;
  readonly accessTokenTtl: number;
  readonly highPrivilegeTtl: number;
}

type RevocableToken = AccessToken | ClientCredentials | RefreshToken;

/** The spec's example of a registration endpoint, and its siblings. */
const routes = {
  authorization: '/oauth/v2/oauth-authorize',
  token: '/oauth/v2/oauth-token',
  registration: '/oauth/v2/oauth-registration',
  introspection: '/oauth/v2/oauth-introspect',
  revocation: '/oauth/v2/oauth-revoke',
  jwks: '/oauth/v2/jwks',
  end_session: '/oauth/v2/sign-out',
} as const;

/** oidc-provider, configured as the authorization server of `docs/internals/requirements.md`. */
export function createProvider(options: ProviderOptions): Provider {
  const { accessTokenTtl, fetchClientDocument, highPrivilegeTtl, issuer, resources } = options;
  const lifetime = (scopes: Iterable<string>): number => (isHighPrivilege(scopes) ? highPrivilegeTtl : accessTokenTtl);

  const provider = new Provider(issuer, {
    ...freshState(),
    clients: [...options.clients],
    routes,
    scopes: [...scopeRules.keys()],
    acrValues: [passwordAcr],
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_post', 'client_secret_basic', ...publicMethod(options)],
    enabledJWA: { idTokenSigningAlgValues: ['RS256'], introspectionSigningAlgValues: ['RS256'] },
    // RFC 9700 §2.1.1: PKCE stops injected codes for confidential clients as well.
    pkce: { required: () => true },
    clockTolerance: 0,
    ttl: {
      AccessToken: (_ctx, token) => lifetime(token.scope?.split(' ') ?? []),
      AuthorizationCode: 60,
      ClientCredentials: 600,
      Grant: 14 * 86_400,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
    // A high privilege that is renewed automatically would not be short-lived.
    issueRefreshToken: (_ctx, client, code) =>
      client.grantTypeAllowed('refresh_token') && !isHighPrivilege(code.scopes),
    extraClientMetadata: dynamicClientPolicy(accessTokenTtl, options.keepsRegisteredScope),
    extraTokenClaims: createTokenClaims(options.accounts, new Set(options.clients.map((client) => client.client_id))),
    findAccount: (_ctx, name) => {
      const account = options.accounts.find(name);
      return account && { accountId: name, claims: () => ({ ...account.claims, sub: name }) };
    },
    interactions: { policy: consentPolicy(), url: (_ctx, interaction) => `${interactionPath}${interaction.uid}` },
    renderError: (ctx, { error, error_description: description }) => showPage(ctx, errorPage(error, description)),
    features: features(options),
    ...(fetchClientDocument && { fetch: fetchClientDocument }),
  });

  addDefaults(provider, routes);
  addTokenExchange(provider, resources, lifetime);
  nameGrants(provider, Date.now, tokenKey);
  const replay = createReplayMemory(Date.now);
  provider.ReplayDetection.unique = async (owner: string, jti: string, exp: number) =>
    replay.firstSeen(`${owner} ${jti}`, exp * 1000, owner);
  return provider;
}

function features({ clientDocuments, resources, resourceServerIds, ...options }: ProviderOptions) {
  const trusted = new Set(options.clients.map((client) => client.client_id));
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: options.dpop },
    clientCredentials: { enabled: true },
    pushedAuthorizationRequests: { enabled: false },
    userinfo: { enabled: false },
    // Open to any client without a credential, R-183. No requirement asks for managing a registration afterwards.
    registration: { enabled: true, issueRegistrationAccessToken: false },
    // Advertised only with an allow list. Otherwise a client with a document would not register itself.
    clientIdMetadataDocument: {
      enabled: clientDocuments.length > 0,
      ack: 'draft-02',
      allowFetch: (_ctx, url) =>
        clientDocuments.some((allowed) => url === allowed || (allowed.endsWith('/') && url.startsWith(allowed))),
    },
    introspection: { enabled: true, allowedPolicy: (_ctx, client) => resourceServerIds.has(client.clientId) },
    // RFC 9701, for a resource server that asks for it by `Accept`.
    jwtIntrospection: { enabled: true },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => revoke(client, token) },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx, _client, oneOf) => oneOf ?? (isForItself(ctx) ? undefined : resources.default.uri),
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, indicator, client) => {
        const resource = resources.find(indicator);
        if (!resource || isForItself(ctx)) throw new errors.InvalidTarget();
        // External agents get no JWTs, which they could read, and their tokens are only for MCP servers.
        if (resource.kind === 'api' && !trusted.has(client.clientId))
          throw new errors.InvalidTarget('not for this client');
        return resourceServer(resource);
      },
    },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx, form) => showPage(ctx, signOutPage(form)),
      postLogoutSuccessSource: (ctx) => showPage(ctx, signedOutPage),
    },
  } satisfies Configuration['features'];
}

/** A token that a client gets for itself identifies it, and grants nothing. */
function isForItself(ctx: KoaContextWithOIDC): boolean {
  return ctx.oidc.params?.grant_type === 'client_credentials';
}

/**
 * Revokes one token of the client. oidc-provider would also revoke every other token of the user's grant. RFC 7009 §2.1
 * lets the refresh token outlive its access token, and after a step-up the user expects the first token to remain
 * valid.
 */
async function revoke(client: Client, token: RevocableToken): Promise<boolean> {
  if (token.clientId !== client.clientId) return false;
  if (token.kind !== 'AccessToken') return true;
  await token.destroy();
  return false;
}

/** A client with a metadata document cannot have a secret; no other client is public. */
function publicMethod({ clientDocuments }: ProviderOptions): 'none'[] {
  return clientDocuments.length > 0 ? ['none'] : [];
}
