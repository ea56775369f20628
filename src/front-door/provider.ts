import {
  type AdapterPayload,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
  type ResourceServer,
  type SigningAlgorithm,
} from 'oidc-provider';
import type { Clock } from '../core/lib/clock.ts';
import type { FrontDoorRevocations } from '../ports/revocation.ts';
import type { FrontDoor } from '../ports/front-door.ts';
import type { FrontDoorObserver } from './observer.ts';
import { createAdapter } from './adapter.ts';
import type { Admission } from './admission.ts';
import { Assertions, type JwtBearerRequest } from './assertions.ts';
import { type BrowserBinding, INTERACTION_SECONDS } from './browser-binding.ts';
import {
  APPROVAL_CLIENT,
  createClientPolicy,
  GATEWAY_CLIENT,
  hasDevices,
  isWorkload,
  jwtBearerGrant,
} from './client-policy.ts';
import { createConsentPolicy } from './interactions.ts';
import { deviceFlow } from './device-pages.ts';
import { DEVICE_SECONDS, POLL_SECONDS } from './devices.ts';
import type { Keys } from './keys.ts';
import { showPage } from './page.ts';
import { failedPage, signedOutPage, signOutPage } from './pages.ts';
import { accountOf, type People } from './people.ts';
import { registeredClients } from './clients.ts';
import { signatureAlgorithms } from '../tokens/servers/key-algorithms.ts';
import { nameGrants } from './token-ids.ts';
import { RefreshGrace } from './refresh-grace.ts';
import type { Resources } from './resources.ts';
import { routes } from './routes.ts';
import { cutScopes, type ScopeRules } from './scope-rules.ts';
import { factsOf } from './sign-ins.ts';
import { type Store, Unavailable } from './store.ts';
import { texts } from './texts.ts';
import { anyPattern } from './url-pattern.ts';
import { Workloads } from './workloads.ts';

/** The parts that a provider shares with those of earlier and later configurations. */
export interface ProviderSurroundings {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Reads what clients publish. */
  readonly fetch: typeof fetch;
  readonly onRevoked: (tokens: readonly string[]) => Promise<void>;
  readonly observer: Pick<FrontDoorObserver, 'grantEnded' | 'consent'>;
  /** Whose rights ended; undefined without `revocation`. */
  readonly revocations?: FrontDoorRevocations | undefined;
}

/** The parts of the configuration of oidc-provider. */
export interface ProviderParts extends ProviderSurroundings {
  readonly frontDoor: FrontDoor;
  /** Whether it has the page of approvals. */
  readonly hasApprovals: boolean;
  readonly resources: Resources;
  readonly scopes: ScopeRules;
  readonly people: People;
  readonly browsers: BrowserBinding;
  readonly admission: Admission;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** People sign in again after a working day, so that a person who left the organization does not stay signed in. */
const SESSION_SECONDS = 8 * HOUR;
/** The longest time without a sign-in: consent, and a chain of refresh tokens. */
const GRANT_SECONDS = 14 * DAY;

/** oidc-provider, configured by `front_door`. It keeps no state of its own, and can be replaced at any time. */
export function createProvider(parts: ProviderParts): Provider {
  const { frontDoor, scopes, people, browsers, store, keys, clock } = parts;
  const { issuer, clients, tokens } = frontDoor;
  const path = new URL(issuer).pathname.replace(/\/$/, '');
  const isSecure = issuer.startsWith('https:');
  const assertions = new Assertions(parts);
  const workloads = new Workloads(parts);
  const registrationMs = clients.registration?.lifetimeMs ?? DAY * 1000;
  // Lax: the answer of a provider is a navigation from another site.
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure: isSecure, overwrite: true } as const;

  const { refreshGraceMs: graceMs } = clients;
  const grace = graceMs === 0 ? undefined : new RefreshGrace({ store, clock, graceMs, tokenKey: keys.cookie });
  const adapter = createAdapter({
    store,
    clock,
    grace,
    registrationMs,
    tokenKey: keys.cookie,
    network: callerBy('networkOf'),
    guesser: callerBy('addressOf'),
    onRevoked: parts.onRevoked,
    revocations: parts.revocations && { check: parts.revocations, issuer },
    isExchange: () => Provider.ctx?.oidc.route === 'token',
    isShowing: () => {
      const { confirm, abort } = Provider.ctx?.oidc.params ?? {};
      return confirm === undefined && abort === undefined;
    },
    beforeUse: requireTarget,
    onReused: ({ model, clientId, subject, usedAt }) =>
      parts.observer.grantEnded(model === 'RefreshToken' ? 'refresh_token.reused' : 'authorization_code.reused', {
        client_id: clientId,
        subject,
        first_used: usedAt === undefined ? undefined : new Date(usedAt * 1000).toISOString(),
      }),
  });
  const provider = new Provider(issuer, {
    adapter,
    clients: [...registeredClients(frontDoor, scopes, parts.hasApprovals)],
    jwks: { keys: [...keys.signing()] },
    cookies: {
      keys: [keys.cookie],
      names: {
        session: `${isSecure ? '__Host-' : ''}sallyport_session`,
        interaction: 'sallyport_interaction',
        resume: 'sallyport_resume',
      },
      long: { ...cookie, path: isSecure ? '/' : path || '/' },
      short: cookie,
    },
    routes,
    scopes: ['openid', ...scopes.all.split(' ')],
    responseTypes: ['code'],
    subjectTypes: ['public'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: {
      idTokenSigningAlgValues: ['ES256'],
      // Those of each key that `sallyport token --key` takes.
      clientAuthSigningAlgValues: [...signatureAlgorithms] as SigningAlgorithm[],
    },
    allowOmittingSingleRegisteredRedirectUri: false,
    clientBasedCORS: () => true,
    // RFC 9700 §2.1.1: PKCE stops injected codes for confidential clients too.
    pkce: { required: () => true },
    clockTolerance: 0,
    expiresWithSession: () => false,
    rotateRefreshToken:
      grace === undefined ? true : (ctx) => grace.rotate(ctx, async (id) => adapter('RefreshToken').consume(id)),
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    ttl: {
      AccessToken: (_ctx, token) => scopes.lifetimeSeconds(token.scope?.split(' ') ?? []),
      ClientCredentials: (_ctx, token) => scopes.lifetimeSeconds(token.scope?.split(' ') ?? []),
      AuthorizationCode: MINUTE,
      DeviceCode: DEVICE_SECONDS,
      Grant: GRANT_SECONDS,
      IdToken: HOUR,
      Interaction: INTERACTION_SECONDS,
      // From the first one on: a chain of refreshed tokens ends too.
      RefreshToken: (_ctx, token) => Math.max(1, GRANT_SECONDS - token.totalLifetime()),
      Session: (_ctx, session) => {
        const now = Math.floor(clock() / 1000);
        return Math.max(1, (session.iat ?? now) + SESSION_SECONDS - now);
      },
    },
    extraClientMetadata: createClientPolicy(frontDoor, scopes),
    ...(frontDoor.acrValues.length > 0 && { acrValues: [...frontDoor.acrValues] }),
    assertJwtClientAuthClaimsAndHeader: async (ctx, { aud, exp }, _header, client) => {
      if (clients.registered.has(client.clientId)) requireOwnAssertion(ctx, { aud, exp });
    },
    // oidc-provider takes the client for the subject of a token without a person.
    formats: {
      customizers: {
        jwt: (_ctx, { extra }, { payload }) => {
          if (extra?.['sub'] !== undefined) payload.sub = extra['sub'];
        },
      },
    },
    extraTokenClaims: async (ctx, token) => {
      if (!('accountId' in token)) {
        const clientId = String(token.clientId);
        return workloads.claimsOf(token) ?? { ...clients.registered.get(clientId)?.claims, sub: clientId };
      }
      // A token of the page of approvals comes of no request.
      const entities = (ctx as typeof ctx | undefined)?.oidc.entities;
      return {
        ...(assertions.claimsOf(token) ?? (await people.find(token.accountId))?.claims),
        ...signInClaims(signInOf.get(token) ?? entities?.AuthorizationCode ?? entities?.RefreshToken),
      };
    },
    findAccount: async (ctx, subject) => {
      // The last step before oidc-provider compares `resource` of a token request with that of the grant, as texts.
      const { route, params, client } = ctx.oidc;
      // The page of approvals needs a session and no token: any program could redeem a code of its public client.
      if (route === 'token' && client?.clientId === APPROVAL_CLIENT)
        throw new errors.UnauthorizedClient('the client of the page of approvals redeems no code');
      if (route === 'token' && typeof params?.['resource'] === 'string') {
        params['resource'] = parts.resources.nameOf(params['resource']);
      }
      const person = await people.find(subject);
      // A provider that the operator has removed vouches for no person any more.
      return person && frontDoor.providers.has(person.provider) ? accountOf(person) : undefined;
    },
    interactions: {
      policy: createConsentPolicy(scopes),
      url({ req, res }, { uid }) {
        browsers.bind(req, res, uid);
        return `${path}/interaction/${uid}`;
      },
    },
    renderError: (ctx, { error, error_description: description }, cause) =>
      showPage(
        ctx,
        isUnknownClient(cause)
          ? failedPage(texts.failed.unknownClient, error, texts.failed.addAgain)
          : failedPage(description ?? error, error),
      ),
    fetch: parts.fetch,
    features: {
      ...features(parts),
      ...(hasDevices(frontDoor) && { deviceFlow: deviceFlow(parts) }),
      resourceIndicators: {
        enabled: true,
        defaultResource: (_ctx, _client, oneOf) => oneOf ?? parts.resources.default(),
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, indicator, client) => resourceServer(ctx, indicator, client.clientId),
      },
    },
  } satisfies Configuration);

  // Needed for the URLs and cookies of an https issuer. The listener sets the headers itself.
  provider.proxy = true;
  provider.use(async (ctx, next) => {
    // The cookie by which oidc-provider finds an interaction whose person comes back; its path does not count.
    const resumed = ctx.cookies.get(provider.cookieName('resume'), cookie);
    if (resumed === undefined || browsers.isBound(ctx.req, resumed)) return next();
    ctx.status = 400;
    showPage(ctx, failedPage(texts.failed.expired, 'invalid_request'));
  });
  if (grace !== undefined) {
    provider.use(async (ctx, next) => {
      await next();
      await grace.answer(ctx);
    });
  }
  nameGrants(provider, clock, keys.cookie, () => grace?.nextId());
  findNoBlocked(provider, parts.revocations);
  // oidc-provider looks first and writes then: two replicas could both accept one assertion of a client. It counts for
  // the address: a public client is one for all its people. oidc-provider compares `exp`, which may have a fraction,
  // with whole seconds.
  provider.ReplayDetection.unique = async (owner: string, jti: string, exp: number) =>
    store.firstSeen(`jti ${owner} ${jti}`, (Math.ceil(exp) + 1) * 1000, callerBy('networkOf')());
  provider.on('device_authorization.success', (_ctx, body) => Object.assign(body, { interval: POLL_SECONDS }));
  const registrations = adapter('Client');
  const renew = (ctx: KoaContextWithOIDC): void => void renewRegistration(ctx).catch(() => {});
  provider.on('authorization.success', renew);
  provider.on('grant.success', renew);
  if (frontDoor.assertions.size > 0 || frontDoor.workloads.size > 0) {
    const parameters = ['assertion', 'scope', 'resource'];
    provider.registerGrantType<JwtBearerRequest>(
      jwtBearerGrant,
      (ctx) => (isWorkload(ctx.oidc.client.clientId) ? workloads : assertions).exchange(provider, ctx),
      parameters,
    );
  }
  return provider;

  /** A registration lives on with each code and each token. A client of the operator, or with a document, has none. */
  async function renewRegistration({ oidc: { client } }: KoaContextWithOIDC): Promise<void> {
    const registered = client && (await registrations.find(client.clientId));
    if (client && registered) await registrations.upsert(client.clientId, registered, registrationMs / 1000);
  }

  /** The party that a request under way comes from; empty outside of requests. */
  function callerBy(partyOf: 'addressOf' | 'networkOf'): () => string {
    return () => (Provider.ctx === undefined ? '' : parts.admission[partyOf](Provider.ctx.req));
  }

  /**
   * The scopes of a new token. A refreshed one keeps a scope with `max_age` while the sign-in is that fresh: common
   * clients renew a token of a minute before each use.
   *
   * @throws {InvalidGrant} if none is left: the person has to sign in again.
   * @throws {InvalidScope} if a client asks for none that it may have of its own.
   */
  function grantable({ oidc: { params, entities, client } }: KoaContextWithOIDC): string {
    if (params?.['grant_type'] === 'client_credentials') {
      // oidc-provider refuses a scope beyond this, so the request is cut too (RFC 6749 §3.3).
      params['scope'] = cutScopes(params['scope'], clients.registered.get(client?.clientId ?? '')?.scopes ?? []);
      return String(params['scope']);
    }
    if (params?.['grant_type'] !== 'refresh_token') return scopes.all;
    const { authTime = 0, scope } = entities.RefreshToken ?? {};
    const fresh = scopes.freshEnough(clock() / 1000 - authTime);
    if (!scopes.known(scope).some((name) => fresh.split(' ').includes(name))) {
      throw new errors.InvalidGrant('the sign-in is too old for the scopes of this token');
    }
    return fresh;
  }

  /**
   * Requires that the resource of a token request is that of its code or refresh token, before it is used up: a client
   * may mend its request and try again (RFC 8707 §2.2).
   *
   * @throws {InvalidTarget} {@link grantable}
   */
  function requireTarget({ resource: granted = [] }: AdapterPayload): void {
    const { ctx } = Provider;
    const { params } = ctx?.oidc ?? {};
    if (ctx === undefined || params === undefined) return;
    const asked = params['resource'];
    if (asked !== undefined && ![granted].flat().includes(parts.resources.nameOf(onlyOne(asked))))
      throw new errors.InvalidTarget('resource is not the one that was granted');
    grantable(ctx);
  }

  function resourceServer(ctx: KoaContextWithOIDC, indicator: string, clientId: string): ResourceServer {
    const { params, route } = ctx.oidc;
    if (params?.['resource'] !== undefined) onlyOne(params['resource']);
    // Judged now, while the answer still reaches the device.
    if (route === 'device_authorization' && scopes.known(params?.['scope']).length === 0)
      throw new errors.InvalidScope('no scope of this authorization server is asked for', '');
    const isPerson = params?.['grant_type'] !== 'client_credentials' && !isWorkload(clientId);
    if (!isPerson && parts.resources.isForApprovers(indicator))
      throw new errors.InvalidTarget('only people approve calls');
    return {
      audience: parts.resources.audienceOf(indicator, clientId),
      scope: grantable(ctx),
      accessTokenFormat: tokens.format,
      ...(tokens.format === 'jwt' && { jwt: { sign: { alg: 'ES256', kid: String(keys.signing()[0]?.kid) } } }),
    };
  }
}

/**
 * Lets no client be found that an operator has ended: not for a code, nor for a token, an introspection or a device.
 * The gateway and the page of approvals are no clients of others, and stay.
 */
function findNoBlocked({ Client, issuer }: Provider, check: FrontDoorRevocations | undefined): void {
  if (check === undefined) return;
  const find = Client.find.bind(Client);
  Client.find = async (id) => {
    const client = await find(id);
    if (client === undefined || id === GATEWAY_CLIENT || id === APPROVAL_CLIENT) return client;
    if (!check.isReady()) throw new Unavailable('the front door does not know the kept revocations yet');
    return check.blocks(issuer, id) ? undefined : client;
  };
}

/** The longest life of an assertion by which a client authenticates: the front door remembers it that long. */
const MAX_ASSERTION_SECONDS = 86_400;

/**
 * Requires of the assertion of a registered client, RFC 7523 §3, what oidc-provider leaves open.
 *
 * @throws {InvalidClientAuth}
 */
function requireOwnAssertion({ oidc }: KoaContextWithOIDC, { aud, exp }: { aud?: unknown; exp?: unknown }): void {
  const own = new Set<unknown>([oidc.issuer, oidc.urlFor('token')]);
  if (![aud].flat().some((audience) => own.has(audience)))
    throw new errors.InvalidClientAuth('aud is neither the issuer nor the token endpoint');
  if (Number(exp) > Date.now() / 1000 + MAX_ASSERTION_SECONDS)
    throw new errors.InvalidClientAuth('exp is more than 24 hours ahead');
}

/** @throws {InvalidTarget} for several resources. */
function onlyOne(resource: unknown): string {
  const [first, ...others] = [resource].flat();
  if (others.length > 0) throw new errors.InvalidTarget('one resource at a time: a token opens no other');
  return String(first);
}

interface SignInSource {
  readonly acr?: string | undefined;
  readonly amr?: string[] | undefined;
  readonly authTime?: number | undefined;
}

/** The sign-ins of tokens that come of neither a code nor a refresh token. */
export const signInOf = new WeakMap<object, SignInSource>();

/** The claims about the sign-in that a token rests on, RFC 9068 §2.2.1. */
function signInClaims(source: SignInSource | undefined): Readonly<Record<string, unknown>> {
  if (source === undefined) return {};
  const { acr, amr, authTime = 0 } = source;
  return {
    ...factsOf(amr)?.claims,
    ...(acr !== undefined && { acr }),
    // 0: the provider does not say.
    ...(authTime > 0 && { auth_time: authTime }),
  };
}

function features({ frontDoor: { clients, workloads } }: ProviderParts) {
  const isListed = anyPattern(clients.metadataDocuments);
  const { registration } = clients;
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: true },
    clientCredentials: {
      enabled:
        workloads.size > 0 || [...clients.registered.values()].some(({ grants }) => grants.has('client_credentials')),
    },
    pushedAuthorizationRequests: { enabled: false },
    userinfo: { enabled: false },
    registration: {
      enabled: registration !== undefined,
      issueRegistrationAccessToken: false,
      ...(registration?.initialAccessToken !== undefined && { initialAccessToken: registration.initialAccessToken }),
    },
    // Advertised only with a list. Otherwise a client with a document would not register itself.
    clientIdMetadataDocument: {
      enabled: clients.metadataDocuments.length > 0,
      ack: 'draft-02',
      allowFetch: (_ctx, url) => isListed(url),
      cacheDuration: { min: MINUTE, max: DAY },
    },
    introspection: {
      enabled: true,
      // A token of a client that was removed is not active.
      allowedPolicy: async ({ oidc }, client, token) =>
        client.clientId === GATEWAY_CLIENT && (await oidc.provider.Client.find(String(token.clientId))) !== undefined,
    },
    revocation: {
      enabled: true,
      async allowedPolicy(_ctx, client, token) {
        // RFC 7009 §2.1: the server refuses the request, and says so to the client.
        if (token.clientId !== client.clientId) throw new errors.InvalidGrant('the token was issued to another client');
        if (token.kind !== 'AccessToken') return true;
        // This token alone: oidc-provider would also end the others of the grant, from before a step-up.
        await token.destroy();
        return false;
      },
    },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx, form) => showPage(ctx, signOutPage(form)),
      postLogoutSuccessSource: (ctx) => showPage(ctx, signedOutPage),
    },
  } satisfies Configuration['features'];
}

/** Whether no registration has the identifier of the client. Clients keep theirs when the front door forgets it. */
function isUnknownClient(error: Error): boolean {
  return error instanceof errors.InvalidClient && error.error_detail === 'client not found';
}
