import { hash } from 'node:crypto';
import { addressBlock } from '../core/lib/ip-address.ts';
import type { Clock } from '../core/lib/clock.ts';
import { createSingleFlight } from '../core/lib/single-flight.ts';
import type { Call } from '../core/model/call.ts';
import type { CountLookup } from '../core/model/events.ts';
import { Denial, isTokenDenial } from '../core/model/denial.ts';
import type { AccessToken, PresentedToken, RefusedToken } from '../core/model/grant.ts';
import type { Failures } from '../core/model/shared.ts';
import type { Principal, TokenForm } from '../core/model/principal.ts';
import type { Route } from '../core/model/route.ts';
import { notAccepted } from './refusal-detail.ts';
import {
  type Introspector,
  type SharedIntrospector,
  introspectAtEach,
  shortestReuse,
  type TokenAuthority,
} from './introspection.ts';
import { claimedIssuer, encryptedToken, isEncrypted, type JwtVerifier } from './jwt.ts';
import type { KeySource } from './keys.ts';
import { createExpiringCache, type ExpiringCache } from '../core/lib/expiring-cache.ts';

/** Bounds memory; a full cache evicts the least recently used tokens. */
const MAX_TOKENS = 20_000;
/** The same for tokens with many claims: 20,000 of them may have 3.3 KB each. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The longest reuse of a refusal: a token that becomes valid again waits at most this long. */
const LONGEST_REFUSAL_MS = 5_000;

/** An authorization server as a validator of tokens. */
export interface Authority extends TokenAuthority {
  readonly issuer: string;
  /** The `iss` values of its tokens, {@link issuer} among them. */
  readonly issuers: readonly string[];
  readonly keys: KeySource;
  readonly verify: JwtVerifier | undefined;
  readonly introspect: SharedIntrospector | undefined;
}

interface VerifiedToken {
  readonly principal: Principal;
  /**
   * The keys of a signed token, and their generation when the verification began: the token is evicted with its key,
   * since a stolen key can sign any `exp`.
   */
  readonly by: { readonly keys: KeySource; readonly generation: number } | undefined;
}

/** The key of a token in all caches, and its issuer. */
interface EvictedToken {
  readonly key: string;
  readonly issuer: string;
}

/**
 * Validates tokens for all routes that trust the same servers, with a cache in front of these. It keeps valid tokens
 * until they expire and refused ones for a few seconds; parallel requests with one token share its validation. The
 * audience is checked afterwards.
 */
export class CachedVerifier {
  readonly #authorities: readonly Authority[];
  readonly #forms: Route['tokens'];
  readonly #count: CountLookup;
  readonly #onRefused: (refused: RefusedToken) => void;
  readonly #clock: Clock;
  readonly #verified: ExpiringCache<VerifiedToken>;
  /** A cache of its own, so that made-up tokens evict no valid ones. */
  readonly #refused: ExpiringCache<Pick<Denial, 'refusal' | 'detail'>>;
  readonly #flight = createSingleFlight<Principal>();

  /** @param onRefused Called for each refused token; without issuers if an error left its validity unknown. */
  constructor(
    authorities: readonly Authority[],
    forms: Route['tokens'],
    count: CountLookup,
    onRefused: (refused: RefusedToken) => void,
    clock: Clock,
  ) {
    this.#authorities = authorities;
    this.#forms = forms;
    this.#count = count;
    this.#onRefused = onRefused;
    this.#clock = clock;
    this.#verified = createExpiringCache(MAX_TOKENS, clock, MAX_BYTES);
    this.#refused = createExpiringCache(MAX_TOKENS, clock);
  }

  /** Synchronous for a token that is cached as valid or as refused. */
  authenticate(token: PresentedToken, call: Call, failures: Failures): Principal | Promise<Principal> {
    const key = tokenKey(token);
    const principal = this.#valid(key);
    if (principal !== undefined) {
      this.#count('token', 'hit');
      return principal;
    }
    const refusal = this.#refusal(key);
    this.#count('token', refusal === undefined ? 'miss' : 'negative');
    if (refusal !== undefined) throw refusal;
    const check = this.#checkOf(token.value);
    const verifyOnce = (): Promise<Principal> =>
      this.#flight(key, () => this.#verifyUnlessCached(token.value, key, check, call.client));
    // A signature check costs no call to a server, so that the limit of failures does not apply.
    if (check.verify !== undefined || check.trusted.length === 0) return verifyOnce();
    return failures.guard({ call, servers: check.issuers.join(' '), token: key }, verifyOnce);
  }

  /** Validates past the cache. `client`: the address of the caller, if there is one. */
  async revalidate(token: PresentedToken, client?: string): Promise<Principal> {
    const key = tokenKey(token);
    this.#refused.delete(key);
    try {
      // Not shared with callers that may use a cached answer.
      return await this.#flight(`afresh ${key}`, () =>
        this.#verify(token.value, key, this.#checkOf(token.value), 'afresh', client),
      );
    } catch (error) {
      // A bug: the token's validity is unknown.
      if (!(error instanceof Denial)) this.#onRefused({ key, issuers: [], reason: 'gateway.error' });
      throw error;
    }
  }

  /** Evicts a valid token: its next use validates it again. */
  evict(key: string): void {
    this.#verified.delete(key);
  }

  /** Evicts the valid tokens of these callers, and returns them. */
  evictWhere(isMeant: (principal: Principal) => boolean): readonly EvictedToken[] {
    const evicted: EvictedToken[] = [];
    for (const [key, { principal }] of this.#verified.entries())
      if (isMeant(principal)) evicted.push({ key, issuer: principal.issuer });
    for (const { key } of evicted) this.#verified.delete(key);
    return evicted;
  }

  #valid(key: string): Principal | undefined {
    const cached = this.#verified.get(key);
    if (cached?.by !== undefined && !cached.by.keys.holds(cached.by.generation)) return undefined;
    return cached?.principal;
  }

  #refusal(key: string): Denial | undefined {
    const cached = this.#refused.get(key);
    return cached && new Denial(cached.refusal, cached.detail);
  }

  /** While this call waited, another one may have filled the cache. */
  async #verifyUnlessCached(token: AccessToken, key: string, check: TokenCheck, client: string): Promise<Principal> {
    const refusal = this.#refusal(key);
    if (refusal !== undefined) throw refusal;
    return this.#valid(key) ?? this.#verify(token, key, check, 'known', client);
  }

  /** @throws {Denial} `token.form`, `token.issuer`, without a call to a server. */
  #checkOf(token: AccessToken): TokenCheck {
    const issuer = claimedIssuer(token);
    const form = issuer === undefined ? 'opaque' : 'jwt';
    if (!this.#forms.has(form))
      throw new Denial('token.form', isEncrypted(token) ? encryptedToken : notAcceptedForm(form, this.#authorities));
    const trusted = this.#authorities.filter(({ maySee, issuers }) =>
      issuer === undefined ? maySee(token) : issuers.includes(issuer),
    );
    const [first] = trusted;
    if (first === undefined) {
      const issuers = this.#authorities.flatMap((authority) => authority.issuers);
      const detail =
        issuer === undefined
          ? 'no authorization server that the route trusts has the introspection.prefix that the token begins with'
          : notAccepted('iss', issuer, issuers);
      throw new Denial('token.issuer', detail);
    }
    const { verify, keys } = first;
    if (issuer !== undefined && verify !== undefined) return { verify, keys, issuers: [first.issuer] };
    const asked = trusted.filter(({ introspect }) => introspect !== undefined);
    return { verify: undefined, trusted: asked, issuers: asked.map((authority) => authority.issuer) };
  }

  async #verify(
    token: AccessToken,
    key: string,
    check: TokenCheck,
    by: keyof Introspector,
    client: string | undefined,
  ): Promise<Principal> {
    try {
      if (check.verify === undefined) return await this.#introspect(token, key, check.trusted, by, client);
      const { keys } = check;
      const { generation } = keys;
      const principal = await check.verify(token);
      const expiresAt = (principal.expiresAt ?? Infinity) * 1000;
      this.#verified.set(key, { principal, by: { keys, generation } }, expiresAt, token.length);
      return principal;
    } catch (error) {
      if (isTokenDenial(error)) this.#onRefused({ key, issuers: check.issuers, reason: error.reason });
      throw error;
    }
  }

  async #introspect(
    token: AccessToken,
    key: string,
    trusted: readonly Authority[],
    by: keyof Introspector,
    client: string | undefined,
  ): Promise<Principal> {
    try {
      const { principal, reusableUntil } = await introspectAtEach(token, trusted, by, client && addressBlock(client));
      this.#verified.set(key, { principal, by: undefined }, reusableUntil, introspectedBytes(principal));
      return principal;
    } catch (error) {
      if (isTokenDenial(error)) {
        const { refusal, detail } = error;
        const reuseMs = Math.min(shortestReuse(trusted), LONGEST_REFUSAL_MS);
        this.#refused.set(key, { refusal, detail }, this.#clock() + reuseMs);
      }
      throw error;
    }
  }
}

/**
 * How a token is validated: by its signature with the issuer's keys, or by introspection at these servers.
 */
type TokenCheck =
  | { readonly verify: JwtVerifier; readonly keys: KeySource; readonly issuers: readonly string[] }
  | { readonly verify: undefined; readonly trusted: readonly Authority[]; readonly issuers: readonly string[] };

/** Why a route refuses tokens of `form`. The token may be garbage: only a setting that is missing is named. */
function notAcceptedForm(form: TokenForm, authorities: readonly Authority[]): string {
  const isOpaque = form === 'opaque';
  const canValidate = authorities.some(({ introspect, verify }) => (isOpaque ? introspect : verify) !== undefined);
  if (canValidate) {
    return isOpaque ? 'the route accepts JWTs only (tokens), and this is none' : 'the route accepts opaque tokens only';
  }
  const cause = `none of its authorization servers has ${isOpaque ? 'introspection' : 'jwt'}`;
  return `the route does not accept ${isOpaque ? 'opaque tokens' : 'JWTs'}: ${cause}`;
}

/** The length of an introspected principal. One that is nested too deeply to be written is larger than any cache. */
function introspectedBytes({ claims, introspectionJwt }: Principal): number {
  try {
    return JSON.stringify({ claims, introspectionJwt }).length;
  } catch {
    return Infinity;
  }
}

const keys = new WeakMap<PresentedToken, string>();

/**
 * The cache key of a token: SHA-256, so that no cache holds a usable token. Computed once for each presented token,
 * which a connection repeats. A faster hash would save nothing on those requests, and collisions in it would let an
 * attacker make a token with the key of another caller.
 */
export function tokenKey(token: PresentedToken): string {
  const known = keys.get(token);
  if (known !== undefined) return known;
  const key = hash('sha256', token.value, 'base64url');
  keys.set(token, key);
  return key;
}
