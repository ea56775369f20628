import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../core/lib/clock.ts';
import { type AuthorizationServer, issuersOf } from '../core/model/authorization-server.ts';
import type { AuthorizationServerClient, KeySetState } from '../ports/authorization-server-client.ts';
import type { Call } from '../core/model/call.ts';
import type { Config } from '../ports/config.ts';
import type { CountLookup } from '../core/model/events.ts';
import { describeValue } from '../core/lib/json/describe-value.ts';
import { Denial } from '../core/model/denial.ts';
import type { ReloadReason } from '../core/model/reasons.ts';
import type { PresentedToken, RefusedToken } from '../core/model/grant.ts';
import type { Principal, TokenForm } from '../core/model/principal.ts';
import type { Endpoint } from '../core/model/endpoint.ts';
import type { SharedAnswers, Failures } from '../ports/shared.ts';
import { type Authority, CachedVerifier, createMaySee } from './cached-verifier.ts';
import { notAccepted, notAcceptedOf } from './refusal-detail.ts';
import type { SharedIntrospector } from './introspection.ts';
import { claimedIssuer, createJwtVerifier, requireAlgorithm, requireType } from './jwt.ts';
import { KeySource } from './keys.ts';
import type { Possession } from './possession.ts';
import { audienceOf, withHierarchy } from './principal.ts';
import type { RefusingRevocation, RevocationCheck } from '../ports/revocation.ts';

/** Validates tokens for one route. */
export interface Authentication {
  /** Synchronous if a cache knows the token as valid or as refused. */
  authenticate(token: PresentedToken, call: Call): Principal | Promise<Principal>;
  /**
   * The principal under the settings of this route, for a token that was validated before, perhaps under other
   * settings.
   *
   * @throws {Denial} if this route would refuse the token.
   */
  accept(principal: Principal, token: PresentedToken): Principal;
  /**
   * Validates a token again, past the cache, and updates the cache. `client`: the address of its caller.
   */
  revalidate(token: PresentedToken, client?: string): Promise<Principal>;
}

/** Creates the validation of tokens, first for a configuration, then for a route. */
export interface Authenticators {
  /** Loads the code of introspection, if one of `servers` has it. A configuration is prepared before it is used. */
  prepare(servers: Iterable<AuthorizationServer>): Promise<void>;
  (
    clients: ReadonlyMap<string, AuthorizationServerClient>,
    scopeHierarchy: Config['scopeHierarchy'],
    failures: Failures,
    revocation?: RevocationGuard,
  ): (route: Endpoint, possession: Possession) => Authentication;
  /**
   * Ends a token that the authorization server `name` has revoked: no cache answers for it any more.
   *
   * @param key The SHA-256 of the token, as the caches know it.
   */
  revoke(name: string, key: string): void;
  /** Drops what caches know of valid tokens: their next use asks the server, or verifies them, again. */
  drop(isMeant: (principal: Principal) => boolean): void;
  /** The signing keys of the authorization server `name`; undefined: none were fetched yet. */
  keySet(name: string): KeySetState | undefined;
}

/**
 * Creates the validation of tokens. Routes that trust the same servers share one cache of verified tokens, keyed by
 * SHA-256 and never used past `exp`. The audience is checked at each use, so that a token for one route opens no other.
 * A token that one route finds refused is evicted from every cache. Caches and keys outlive a configuration while the
 * next one trusts the same servers.
 *
 * @param answers The store of introspection answers that replicas share, if there is one.
 * @param onRefused Called for each token that any route finds refused.
 */
export function createAuthenticators(
  count: CountLookup,
  clock: Clock,
  answers?: SharedAnswers,
  onRefused?: (refused: RefusedToken) => void,
): Authenticators {
  const keySources = new WeakMap<AuthorizationServerClient, KeySource>();
  /** Undefined until a configuration has `introspection`. */
  let introspection: typeof import('./introspection.ts') | undefined;
  let trust: Trust = { clients: new Map(), scopeHierarchy: new Map(), authorities: new Map(), verifiers: new Map() };

  const authenticators = (
    clients: ReadonlyMap<string, AuthorizationServerClient>,
    scopeHierarchy: Config['scopeHierarchy'],
    failures: Failures,
    revocation?: RevocationGuard,
  ): ReturnType<Authenticators> => {
    if (!trustsTheSame(trust, clients, scopeHierarchy)) {
      const prefixes = [...clients.values()].flatMap(({ server }) => server.introspection?.prefix ?? []);
      const authorities = new Map(
        [...clients].map(([name, client]) => [name, authorityOf(client, scopeHierarchy, prefixes)]),
      );
      trust = { clients, scopeHierarchy, authorities, verifiers: new Map() };
    }
    const { authorities, verifiers } = trust;
    const refuseEverywhere = (refused: RefusedToken): void => {
      const wasValid = [...verifiers.values()].map((verifier) => verifier.evict(refused.key)).includes(true);
      onRefused?.({ ...refused, isMadeUp: refused.isMadeUp && !wasValid });
    };
    return (route, possession) => {
      const names = route.authorizationServers.map(({ name }) => name);
      const key = JSON.stringify([names, [...route.tokens].toSorted()]);
      const trusted = names.map((name) => required(authorities, name));
      const verified = verifiers.get(key) ?? new CachedVerifier(trusted, route.tokens, count, refuseEverywhere, clock);
      verifiers.set(key, verified);
      return authenticationFor({ route, trusted, verified, possession, scopeHierarchy, failures, revocation });
    };
  };
  const keySet = (name: string): KeySetState | undefined => trust.authorities.get(name)?.keys.state();
  return Object.assign(authenticators, { prepare, revoke, drop, keySet });

  async function prepare(servers: Iterable<AuthorizationServer>): Promise<void> {
    if ([...servers].some((server) => server.introspection !== undefined))
      introspection ??= await import('./introspection.ts');
  }

  function revoke(name: string, key: string): void {
    const authority = trust.authorities.get(name);
    if (authority === undefined) return;
    authority.introspect?.revoke(key);
    for (const verifier of trust.verifiers.values()) verifier.evict(key);
    onRefused?.({ key, issuers: [authority.issuer], reason: 'token.inactive', isMadeUp: false });
  }

  function drop(isMeant: (principal: Principal) => boolean): void {
    const evicted = [...trust.verifiers.values()].flatMap((verifier) => verifier.evictWhere(isMeant));
    for (const { issuer, introspect } of trust.authorities.values())
      introspect?.drop(evicted.filter((token) => token.issuer === issuer).map(({ key }) => key));
  }

  function authorityOf(
    client: AuthorizationServerClient,
    scopeHierarchy: Config['scopeHierarchy'],
    prefixes: readonly string[],
  ): Authority {
    const { server } = client;
    const keys = keysOf(client);
    return {
      issuer: server.issuer,
      issuers: issuersOf(server),
      keys,
      cacheMs: server.introspection?.cacheMs ?? 0,
      maySee: createMaySee(server.introspection?.prefix, prefixes),
      verify: server.jwt && createJwtVerifier(server, keys, scopeHierarchy, clock),
      introspect: server.introspection && introspectorOf(client, keys, scopeHierarchy),
    };
  }

  function introspectorOf(
    client: AuthorizationServerClient,
    keys: KeySource,
    scopeHierarchy: Config['scopeHierarchy'],
  ): SharedIntrospector {
    if (introspection === undefined) throw new TypeError('a configuration is prepared first');
    return introspection.createIntrospector(client, keys, scopeHierarchy, clock, answers);
  }

  function keysOf(client: AuthorizationServerClient): KeySource {
    const keys = keySources.get(client) ?? new KeySource(client, clock);
    keySources.set(client, keys);
    return keys;
  }
}

/** The servers that a configuration trusts, and the tokens verified under it. */
interface Trust {
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
  readonly scopeHierarchy: Config['scopeHierarchy'];
  readonly authorities: ReadonlyMap<string, Authority>;
  readonly verifiers: Map<string, CachedVerifier>;
}

/** Whether the trust is unchanged. A client stays the same object while its server's settings do. */
function trustsTheSame(
  trust: Trust,
  clients: ReadonlyMap<string, AuthorizationServerClient>,
  scopeHierarchy: Config['scopeHierarchy'],
): boolean {
  const sameClients =
    trust.clients.size === clients.size && [...clients].every(([name, client]) => trust.clients.get(name) === client);
  return sameClients && isDeepStrictEqual(trust.scopeHierarchy, scopeHierarchy);
}

function required(authorities: ReadonlyMap<string, Authority>, name: string): Authority {
  const found = authorities.get(name);
  if (found === undefined) throw new TypeError(`no client for the authorization server ${name}`);
  return found;
}

interface AuthenticationParts {
  readonly route: Endpoint;
  readonly trusted: readonly Authority[];
  readonly verified: CachedVerifier;
  readonly possession: Possession;
  readonly scopeHierarchy: Config['scopeHierarchy'];
  readonly failures: Failures;
  /** Undefined: no revocation is configured. */
  readonly revocation: RevocationGuard | undefined;
}

function authenticationFor(parts: AuthenticationParts): Authentication {
  const { route, trusted, verified, possession, scopeHierarchy, failures, revocation } = parts;
  const audiences = new Set(route.audiences);
  return {
    authenticate(token, call) {
      const principal = verified.authenticate(token, call, failures);
      return principal instanceof Promise
        ? principal.then((later) => requireOwn(later, token, call))
        : requireOwn(principal, token, call);
    },
    accept(principal, token) {
      const server = route.authorizationServers.find(({ issuer }) => issuer === principal.issuer);
      if (server === undefined) {
        const issuers = route.authorizationServers.map(({ issuer }) => issuer);
        throw new Denial('token.issuer', notAccepted('iss', principal.issuer, issuers));
      }
      const form = claimedIssuer(token.value) === undefined ? 'opaque' : 'jwt';
      const maySee = trusted.every(({ issuer, maySee }) => issuer !== server.issuer || maySee(token.value));
      const inUse = { principal, form, maySee, server, route, audiences, revocation } as const;
      for (const check of Object.values(reloadChecks)) check(inUse);
      return withHierarchy(principal, scopeHierarchy);
    },
    // RFC 9449 §4.3 binds a proof to one request. The stream that it opened continues by the token alone.
    revalidate: async (token, client) => requireGood(await verified.revalidate(token, client)),
  };

  function requireOwn(principal: Principal, token: PresentedToken, call: Call): Principal | Promise<Principal> {
    return possession(requireGood(principal), token, call);
  }

  function requireGood(principal: Principal): Principal {
    requireAudience(principal, route, audiences);
    revocation?.requireRecent(principal);
    revocation?.requireNotRevoked(principal);
    return principal;
  }
}

/** A token that was validated under earlier settings, and the current settings. */
interface TokenInUse {
  readonly principal: Principal;
  readonly form: TokenForm;
  /** Whether `server` may see it as an opaque token, by its prefix. */
  readonly maySee: boolean;
  readonly server: AuthorizationServer;
  readonly route: Endpoint;
  readonly audiences: ReadonlySet<string>;
  readonly revocation: RevocationGuard | undefined;
}

/**
 * The checks of a token that depend on settings, by the reason of their refusal. They call no server and require no new
 * proof of possession: RFC 9449 §4.3 binds a proof to the first request of a stream.
 */
const reloadChecks: Readonly<Record<ReloadReason, (token: TokenInUse) => void>> = {
  'token.form'({ principal, form, server, route }) {
    if (!route.tokens.has(form)) throw new Denial('token.form', `the route no longer accepts ${form} tokens`);
    if (principal.signature === undefined || server.jwt !== undefined) return;
    throw new Denial('token.form', 'its authorization server has no jwt');
  },
  'token.issuer'({ principal, form, maySee, server }) {
    const { iss } = principal.claims;
    if (typeof iss === 'string' && !issuersOf(server).includes(iss))
      throw new Denial('token.issuer', notAccepted('iss', iss, issuersOf(server)));
    if (form === 'jwt' || maySee) return;
    throw new Denial('token.issuer', 'it lacks the introspection.prefix of its authorization server');
  },
  'token.algorithm'({ principal: { signature }, server }) {
    if (signature !== undefined) requireAlgorithm(signature, server.jwt);
  },
  'token.type'({ principal: { signature }, server }) {
    if (signature !== undefined) requireType(signature, server.jwt);
  },
  'token.audience'({ principal, server, route, audiences }) {
    const { claims, signature } = principal;
    const audience = audienceOf(claims, signature?.type === 'at+jwt', server);
    if (audience.length === 0 && server.introspection?.audience !== 'optional')
      throw new Denial('token.audience', 'the route no longer accepts tokens without aud');
    requireAudience({ ...principal, audience }, route, audiences);
  },
  'token.revoked': ({ principal, revocation }) => revocation?.requireNotRevoked(principal),
  'token.too_old': ({ principal, revocation }) => revocation?.requireRecent(principal),
  'token.unbound'({ principal: { confirmation }, route: { proofs } }) {
    if (confirmation === undefined && proofs?.required === true)
      throw new Denial('token.unbound', 'the route no longer accepts tokens that are bound to no key');
  },
  'token.sender_constrained'({ principal: { confirmation }, route: { proofs } }) {
    if (confirmation?.jwkThumbprint !== undefined && proofs === undefined)
      throw new Denial('token.sender_constrained', 'the route no longer serves DPoP');
  },
};

/** Requires `aud` to contain this resource exactly, RFC 9068 §4 and RFC 8707 §2. */
function requireAudience(
  principal: Principal,
  { isOwn }: Pick<Endpoint, 'isOwn'>,
  audiences: ReadonlySet<string>,
): Principal {
  // Without `aud` only an introspection answer gets here, and only with `audience: optional` or by `audience_claim`.
  const { form, claims, audience: own } = principal;
  // Where the gateway itself answers, it would be any token of an agent: it could approve its own calls.
  if (form === 'opaque' && claims['aud'] === undefined && own.length === 0 && !isOwn) return principal;
  if (principal.audience.some((audience) => audiences.has(audience))) return principal;
  throw new Denial('token.audience', notAcceptedOf('aud', principal.audience, audiences));
}

/** Refuses revoked tokens. It is asked at each use of a token, also of one that a cache knows as valid. */
export interface RevocationGuard {
  /** @throws {Denial} `token.revoked`, or `shared_store.unavailable` while the revocations are not known. */
  requireNotRevoked(principal: Principal): void;
  /**
   * Requires that a JWT is not older than revocations are remembered. Opaque tokens are their server's affair.
   *
   * @throws {Denial} `token.too_old`
   */
  requireRecent(principal: Principal): void;
}

/** Creates the guard of a configuration. `keepMs`: how long revocations are remembered. */
export function createRevocationGuard(
  check: Pick<RevocationCheck, 'isReady' | 'refusing'>,
  keepMs: number,
  clock: Clock,
): RevocationGuard {
  return {
    requireNotRevoked(principal) {
      if (!check.isReady()) throw new Denial('shared_store.unavailable', 'the kept revocations are not known yet');
      const refusing = check.refusing(principal);
      if (refusing === undefined) return;
      throw new Denial('token.revoked', `${revokedWords(refusing, principal)}: ${issuedWords(principal)}`);
    },
    requireRecent(principal) {
      const { form, issuedAt } = principal;
      if (form !== 'jwt') return;
      if ((issuedAt ?? -Infinity) * 1000 > clock() - keepMs) return;
      const limit = 'revocations are remembered for revocation.keep';
      throw new Denial('token.too_old', `${issuedWords(principal)}, and ${limit}, ${keepMs / 1000} s`);
    },
  };
}

/** Where a client or an actor was revoked, the person is not why. */
function revokedWords({ client, actor, at }: RefusingRevocation, { subject, clientId }: Principal): string {
  const party =
    client !== undefined ? `of the client ${describeValue(client)}` : `with the actor ${describeValue(actor)}`;
  if (client !== undefined || actor !== undefined) {
    const person = subject === undefined ? '' : ` (of ${describeValue(subject)})`;
    return `tokens ${party}${person} issued until ${timeWords(at)} are revoked`;
  }
  const name = subject ?? clientId;
  return name === undefined ? 'the token was revoked' : `the token of ${describeValue(name)} was revoked`;
}

function issuedWords({ issuedAt }: Principal): string {
  return issuedAt === undefined ? 'it has no iat' : `it was issued at ${timeWords(issuedAt)}`;
}

/** Another party chose the number: not each is a time. */
function timeWords(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString();
}
