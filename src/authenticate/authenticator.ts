import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../lib/clock.ts';
import { createExpiringCache } from '../lib/expiring-cache.ts';
import { createSingleFlight } from '../lib/single-flight.ts';
import type { AuthorizationServerClient } from '../model/authorization-server.ts';
import type { Call } from '../model/call.ts';
import type { Config } from '../model/config.ts';
import { Denial } from '../model/denial.ts';
import type { AccessToken, PresentedToken } from '../model/grant.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { createIntrospector, type Introspector } from './introspection.ts';
import { claimedIssuer, createJwtVerifier, type JwtVerifier } from './jwt.ts';
import { createKeySource, type KeySource } from './keys.ts';

/** Bounds memory whatever callers present; a full cache forgets the least recently used. */
const MAX_TOKENS = 20_000;

/** Validates tokens for one route. */
export interface Authentication {
  /** Synchronous when the token is known already. */
  authenticate(token: PresentedToken, call: Call): Principal | Promise<Principal>;
  /** Validates a token that is in use once more, past the cache; what it says holds for everybody. */
  revalidate(token: PresentedToken): Promise<void>;
}

/** The same for all routes that trust alike, before the audience is asked. */
interface CachedVerifier {
  authenticate(token: AccessToken): Principal | Promise<Principal>;
  revalidate(token: AccessToken): Promise<Principal>;
}

/** Counts a look-up of the verified-token cache. */
export type CountCacheLookup = (kind: 'token', result: 'hit' | 'miss') => void;

/** What one authorization server can say about a token. */
interface Authority {
  readonly issuer: string;
  readonly cacheMs: number;
  readonly verify: JwtVerifier | undefined;
  readonly introspect: Introspector | undefined;
}

/** By the clients and scopes of a configuration, then by route: who is asked about a token, and how. */
export type Authenticators = (
  clients: ReadonlyMap<string, AuthorizationServerClient>,
  scopeHierarchy: Config['scopeHierarchy'],
) => (route: Route) => Authentication;

/**
 * Creates the validation of tokens. Routes that trust the same servers share one cache of verified tokens, keyed by
 * SHA-256 and never used past `exp`; the audience is checked at each use, so that a token for one route opens no other.
 * The caches and keys stay for a next configuration that trusts the same servers.
 */
export function createAuthenticators(count: CountCacheLookup, clock: Clock): Authenticators {
  const keySources = new WeakMap<AuthorizationServerClient, KeySource>();
  let trust: Trust | undefined;

  return (clients, scopeHierarchy) => {
    if (trust === undefined || !isSame(trust, clients, scopeHierarchy)) {
      const authorities = new Map([...clients].map(([name, client]) => [name, authorityOf(client, scopeHierarchy)]));
      trust = { clients, scopeHierarchy, authorities, verifiers: new Map() };
    }
    const { authorities, verifiers } = trust;
    return (route) => {
      const names = route.authorizationServers.map(({ name }) => name);
      const key = JSON.stringify([names, [...route.tokens].toSorted()]);
      const trusted = names.map((name) => required(authorities, name));
      const verified = verifiers.get(key) ?? createCachedVerifier(trusted, route.tokens, count, clock);
      verifiers.set(key, verified);
      return authenticationFor(route, verified);
    };
  };

  function authorityOf(client: AuthorizationServerClient, scopeHierarchy: Config['scopeHierarchy']): Authority {
    const { server } = client;
    return {
      issuer: server.issuer,
      cacheMs: server.introspection?.cacheMs ?? 0,
      verify: server.jwt && createJwtVerifier(server, keysOf(client), scopeHierarchy, clock),
      introspect: server.introspection && createIntrospector(client, scopeHierarchy, clock),
    };
  }

  function keysOf(client: AuthorizationServerClient): KeySource {
    const keys = keySources.get(client) ?? createKeySource(client, clock);
    keySources.set(client, keys);
    return keys;
  }
}

/** Whom a configuration trusts, and what was verified under it. */
interface Trust {
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
  readonly scopeHierarchy: Config['scopeHierarchy'];
  readonly authorities: ReadonlyMap<string, Authority>;
  readonly verifiers: Map<string, CachedVerifier>;
}

/** A client is the same object only while nothing in its server's settings changed. */
function isSame(
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

function authenticationFor({ audiences: accepted }: Route, verified: CachedVerifier): Authentication {
  const audiences = new Set(accepted);
  return {
    authenticate(token) {
      const principal = verified.authenticate(token.value);
      return principal instanceof Promise
        ? principal.then((later) => requireAudience(later, audiences))
        : requireAudience(principal, audiences);
    },
    async revalidate(token) {
      requireAudience(await verified.revalidate(token.value), audiences);
    },
  };
}

function createCachedVerifier(
  authorities: readonly Authority[],
  forms: Route['tokens'],
  count: CountCacheLookup,
  clock: Clock,
): CachedVerifier {
  const known = createExpiringCache<Principal>(MAX_TOKENS, clock);
  const flight = createSingleFlight<Principal>();

  return {
    authenticate(token) {
      const key = hash('sha256', token, 'base64url');
      const principal = known.get(key);
      count('token', principal === undefined ? 'miss' : 'hit');
      return principal ?? flight(key, () => verify(token, key));
    },
    async revalidate(token) {
      const key = hash('sha256', token, 'base64url');
      try {
        return await flight(key, () => verify(token, key));
      } catch (error) {
        if (!(error instanceof Denial && error.reason === 'authorization_server.unavailable')) known.delete(key);
        throw error;
      }
    },
  };

  async function verify(token: AccessToken, key: string): Promise<Principal> {
    const issuer = claimedIssuer(token);
    if (!forms.has(issuer === undefined ? 'opaque' : 'jwt')) {
      throw new Denial('token.form', `the route does not accept ${issuer === undefined ? 'opaque tokens' : 'JWTs'}`);
    }
    const trusted = issuer === undefined ? authorities : authorities.filter((authority) => authority.issuer === issuer);
    if (trusted.length === 0) throw new Denial('token.issuer', 'the route trusts no authorization server with its iss');
    if (issuer !== undefined && trusted[0]?.verify !== undefined) {
      const principal = await trusted[0].verify(token);
      known.set(key, principal, expiryOf(principal));
      return principal;
    }
    const { principal, cacheMs } = await introspect(token, trusted);
    known.set(key, principal, Math.min(clock() + cacheMs, expiryOf(principal)));
    return principal;
  }
}

/** Asks each server in the configured order. One that is away makes "unknown to the others" no answer. */
async function introspect(
  token: string,
  authorities: readonly Authority[],
): Promise<{ readonly principal: Principal; readonly cacheMs: number }> {
  let unavailable: unknown;
  for (const { introspect: ask, cacheMs } of authorities) {
    if (ask === undefined) continue;
    try {
      const principal = await ask(token);
      if (principal !== undefined) return { principal, cacheMs };
    } catch (error) {
      if (!(error instanceof Denial) || error.reason !== 'authorization_server.unavailable') throw error;
      unavailable = error;
    }
  }
  if (unavailable !== undefined) throw unavailable;
  throw new Denial('token.inactive', 'no trusted authorization server knows it as active');
}

function expiryOf(principal: Principal): number {
  return principal.expiresAt === undefined ? Infinity : principal.expiresAt * 1000;
}

/** RFC 9068 §4 and RFC 8707 §2: `aud` contains this resource exactly. */
function requireAudience(principal: Principal, audiences: ReadonlySet<string>): Principal {
  // Only an introspection answer that may lack `aud` comes here without one.
  if (principal.form === 'opaque' && principal.claims['aud'] === undefined) return principal;
  if (principal.audience.some((audience) => audiences.has(audience))) return principal;
  throw new Denial('token.audience', `aud names none of ${[...audiences].join(', ')}`);
}
