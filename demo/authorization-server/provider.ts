import {
  type AccessToken,
  type Client,
  type ClientCredentials,
  type ClientMetadata,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
  Provider,
  type RefreshToken,
} from 'oidc-provider';
import { nameGrants } from '../../src/front-door/token-ids.ts';
import { createReplayMemory } from '../../src/tokens/replay-memory.ts';
import { accountOf } from './accounts.ts';
import { dynamicClientPolicy, gatewayId, passwordAcr } from './clients.ts';
import { interactionPath } from './interactions.ts';
import { errorPage, signedOutPage, signOutPage } from './pages.ts';
import { freshState, showPage, tokenKey } from './provider-parts.ts';
import { defaultScope, isHighPrivilege, type Resources, resourceServer, scopeRules } from './resources.ts';
import { addTokenExchange, subjectTokenEntity } from './token-exchange.ts';

/** What an authorization server may do in another way. Lifetimes are in seconds. */
export interface ProviderChoices {
  /** Default 900. */
  readonly accessTokenTtl?: number;
  /** The lifetime of a token with a high-privilege scope; default 60. */
  readonly highPrivilegeTtl?: number;
  /** Issues tokens bound to a client's key, RFC 9449, if the client proves possession. Default false. */
  readonly dpop?: boolean;
  /** URLs of accepted client metadata documents. A URL that ends with a slash accepts all below it. Default none. */
  readonly clientDocuments?: readonly string[];
  /** Fetches these documents; default: over https, only from public addresses. */
  readonly fetchClientDocument?: typeof fetch;
  /** Never grants a client that registered itself more than the scope of its registration. Default false. */
  readonly keepsRegisteredScope?: boolean;
}

/** The parts of one authorization server. */
export interface ProviderOptions extends ProviderChoices {
  readonly issuer: string;
  readonly resources: Resources;
  /** The preconfigured clients, which are trusted. */
  readonly clients: readonly ClientMetadata[];
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
  const { accessTokenTtl = 900, fetchClientDocument, highPrivilegeTtl = 60, issuer, resources } = options;
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
    extraClientMetadata: dynamicClientPolicy(accessTokenTtl, options.keepsRegisteredScope === true),
    extraTokenClaims: createTokenClaims(trustedIds(options)),
    findAccount: (_ctx, name) => {
      const account = accountOf(name);
      return account && { accountId: name, claims: () => ({ ...account.claims, sub: name }) };
    },
    interactions: { policy: consentPolicy(), url: (_ctx, interaction) => `${interactionPath}${interaction.uid}` },
    renderError: (ctx, { error, error_description: description }) => showPage(ctx, errorPage(error, description)),
    features: features(options),
    ...(fetchClientDocument && { fetch: fetchClientDocument }),
  });

  addDefaults(provider);
  addTokenExchange(provider, resources, lifetime);
  nameGrants(provider, Date.now, tokenKey);
  const replay = createReplayMemory(Date.now);
  provider.ReplayDetection.unique = async (owner: string, jti: string, exp: number) =>
    replay.firstSeen(`${owner} ${jti}`, exp * 1000, owner);
  return provider;
}

function features(options: ProviderOptions) {
  const { clientDocuments = [], dpop = false, resources } = options;
  const trusted = trustedIds(options);
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: dpop },
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
    introspection: { enabled: true, allowedPolicy: (_ctx, client) => client.clientId === gatewayId },
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

function trustedIds({ clients }: ProviderOptions): ReadonlySet<string> {
  return new Set(clients.map((client) => client.client_id));
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
function publicMethod({ clientDocuments = [] }: ProviderOptions): 'none'[] {
  return clientDocuments.length > 0 ? ['none'] : [];
}

/**
 * Decides when the user is asked: to sign in, if there is no session; to consent, if the client's settings require it,
 * even for scopes that were allowed before, and otherwise for new scopes.
 */
function consentPolicy(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const consent = policy.get('consent');
  // The default check would ask for every native client. The client's own setting decides instead.
  consent?.checks.remove('native_client_prompt');
  consent?.checks.add(
    new interactionPolicy.Check(
      'client_requires_consent',
      'the client requires consent',
      'consent_required',
      ({ oidc }) => oidc.client?.requires_consent === true && !oidc.result?.consent,
    ),
    0,
  );
  return policy;
}

/** Adds what oidc-provider lacks: a default scope, CORS for browsers, and one member of the registration's answer. */
function addDefaults(provider: Provider): void {
  const openPaths = new Set<string>([routes.registration, routes.token, routes.revocation, routes.jwks]);

  provider.use(async (ctx, next) => {
    const open = openPaths.has(ctx.path) || ctx.path.startsWith('/.well-known/');
    // None of these endpoints reads a cookie, so any page may call them.
    if (open) ctx.set('access-control-allow-origin', '*');
    if (!open || ctx.method !== 'OPTIONS') {
      await next();
      return;
    }
    ctx.set('access-control-allow-methods', 'GET, POST');
    ctx.set('access-control-allow-headers', 'authorization, content-type, mcp-protocol-version');
    ctx.status = 204;
  });

  provider.use(async (ctx, next) => {
    if (ctx.path === routes.authorization && ctx.query.scope === undefined) {
      ctx.query = { ...ctx.query, scope: defaultScope };
    }
    await next();
    // Not one of the client's settings: oidc-provider would then require OpenID Connect in each of its requests.
    if (ctx.path === routes.registration && ctx.status === 201) ctx.body.default_acr_values = [passwordAcr];
  });
}

/** The claims of an access token in addition to the standard ones, in a JWT and in an introspection answer. */
type TokenClaims = (ctx: KoaContextWithOIDC, token: AccessToken | ClientCredentials) => Record<string, unknown>;

/** The claims of the user, and `ai_agent`: whether the client is external. */
function createTokenClaims(trustedClients: ReadonlySet<string>): TokenClaims {
  return (ctx, token) => {
    const subject = ctx.oidc.entities[subjectTokenEntity];
    // RFC 8693 §4.1. The token keeps the mark of an AI agent, although the gateway requested it.
    if (subject instanceof ctx.oidc.provider.AccessToken) return { ...subject.extra, act: { sub: token.clientId } };
    const account = 'accountId' in token ? accountOf(token.accountId) : undefined;
    return { ...account?.claims, ai_agent: !trustedClients.has(token.clientId ?? '') };
  };
}
