import { hash } from 'node:crypto';
import { addressBlock } from '../core/lib/ip-address.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Call } from '../core/model/call.ts';
import type { CountLookup } from '../core/model/events.ts';
import { Denial, isTokenDenial } from '../core/model/denial.ts';
import type { AccessToken, PresentedToken, RefusedToken } from '../core/model/grant.ts';
import type { Failures } from '../ports/shared.ts';
import type { Principal, TokenForm } from '../core/model/principal.ts';
import type { Route } from '../core/model/route.ts';
import { notAccepted } from './refusal-detail.ts';
import type { Introspected, Introspector, SharedIntrospector } from './introspection.ts';
import { claimedIssuer, encryptedToken, isEncrypted, type JwtVerifier } from './jwt.ts';
import type { KeySource } from './keys.ts';
import { AnswerCache, type Answer, type AnswerSource } from './answer-cache.ts';

/** Bounds memory; a full cache evicts the least recently used tokens. */
const MAX_TOKENS = 20_000;
/** The same for tokens with many claims: 20,000 of them may have 3.3 KB each. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The longest reuse of a refusal: a token that becomes valid again waits at most this long. */
const LONGEST_REFUSAL_MS = 5_000;

/** An authorization server as a validator of tokens. */
export interface Authority {
  readonly issuer: string;
  /** The `iss` values of its tokens, {@link issuer} among them. */
  readonly issuers: readonly string[];
  readonly keys: KeySource;
  readonly verify: JwtVerifier | undefined;
  /** Undefined if it introspects no tokens. */
  readonly introspect: SharedIntrospector | undefined;
  /** The longest reuse of its introspection answers. */
  readonly cacheMs: number;
  /** Whether the gateway may show it this opaque token. */
  readonly maySee: (token: string) => boolean;
}

type IntrospectingAuthority = Authority & { readonly introspect: SharedIntrospector };

/**
 * Creates the check whether a server may see an opaque token: if the token has the server's prefix, or, for a server
 * without a prefix, if it has the prefix of no configured server. Otherwise a server could collect the tokens of
 * another server and use them here as its own client.
 *
 * @param prefix The prefix of the server.
 * @param prefixes The prefixes of all configured servers, also of those that the route does not trust.
 */
export function createMaySee(prefix: string | undefined, prefixes: readonly string[]): Authority['maySee'] {
  if (prefix !== undefined) return (token) => token.startsWith(prefix);
  return (token) => !prefixes.some((other) => token.startsWith(other));
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
  readonly #cache: AnswerCache<VerifiedToken>;

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
    const isCurrent = ({ by }: VerifiedToken): boolean => by === undefined || by.keys.holds(by.generation);
    this.#cache = new AnswerCache({ clock, max: MAX_TOKENS, maxBytes: MAX_BYTES, isCurrent });
  }

  /** Synchronous for a token that is cached as valid or as refused. */
  authenticate(token: PresentedToken, call: Call, failures: Failures): Principal | Promise<Principal> {
    const key = tokenKey(token);
    const verified = this.#cache.get(key);
    if (verified !== undefined) {
      this.#count('token', 'hit');
      return verified.principal;
    }
    const refusal = this.#cache.refusal(key);
    this.#count('token', refusal === undefined ? 'miss' : 'negative');
    if (refusal !== undefined) throw refusal;
    const check = this.#checkOf(token.value);
    const source = this.#source(key, check, 'known', call.client);
    const verifyOnce = async (): Promise<Principal> => (await this.#cache.obtain(key, source)).principal;
    // A signature check costs no call to a server, so that the limit of failures does not apply.
    if (!check.asksServers) return verifyOnce();
    return failures.guard({ call, servers: check.issuers.join(' '), token: key }, verifyOnce);
  }

  /** Validates past the cache. `client`: the address of the caller, if there is one. */
  async revalidate(token: PresentedToken, client?: string): Promise<Principal> {
    const key = tokenKey(token);
    try {
      const source = this.#source(key, this.#checkOf(token.value), 'afresh', client);
      return (await this.#cache.renew(key, source)).principal;
    } catch (error) {
      // A bug: the token's validity is unknown.
      if (!(error instanceof Denial)) this.#onRefused({ key, issuers: [], reason: 'gateway.error', isMadeUp: false });
      throw error;
    }
  }

  /** Evicts a valid token: its next use validates it again. Returns whether it was cached. */
  evict(key: string): boolean {
    return this.#cache.evict(key);
  }

  /** Evicts the valid tokens of these callers, and returns them. No validation that is under way is cached. */
  evictWhere(isMeant: (principal: Principal) => boolean): readonly EvictedToken[] {
    const evicted = this.#cache.drop(({ principal }) => isMeant(principal));
    return evicted.map(([key, { principal }]) => ({ key, issuer: principal.issuer }));
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
    if (issuer !== undefined && first.verify !== undefined) return signatureCheck(token, first, first.verify);
    return introspectionCheck(token, trusted.filter(introspects));
  }

  #source(
    key: string,
    { issuers, asksServers, validate, refusalMs }: TokenCheck,
    ...how: Parameters<TokenCheck['validate']>
  ): AnswerSource<VerifiedToken> {
    return {
      ask: () =>
        validate(...how).catch((error: unknown) => {
          if (isTokenDenial(error)) this.#onRefused({ key, issuers, reason: error.reason, isMadeUp: !asksServers });
          throw error;
        }),
      refusalMs: (denial) => (isTokenDenial(denial) ? refusalMs : 0),
    };
  }
}

/** How one token is validated. */
interface TokenCheck {
  /** Those whose keys or answers decide. */
  readonly issuers: readonly string[];
  readonly asksServers: boolean;
  /** How long a refusal of the token is kept. */
  readonly refusalMs: number;
  readonly validate: (by: keyof Introspector, client: string | undefined) => Promise<Answer<VerifiedToken>>;
}

function signatureCheck(token: AccessToken, { issuer, keys }: Authority, verify: JwtVerifier): TokenCheck {
  return {
    issuers: [issuer],
    asksServers: false,
    refusalMs: 0,
    async validate() {
      const { generation } = keys;
      const principal = await verify(token);
      const expiresAt = (principal.expiresAt ?? Infinity) * 1000;
      return { value: { principal, by: { keys, generation } }, expiresAt, bytes: token.length };
    },
  };
}

function introspects(authority: Authority): authority is IntrospectingAuthority {
  return authority.introspect !== undefined;
}

function introspectionCheck(token: AccessToken, asked: readonly IntrospectingAuthority[]): TokenCheck {
  return {
    issuers: asked.map(({ issuer }) => issuer),
    asksServers: asked.length > 0,
    refusalMs: Math.min(...asked.map(({ cacheMs }) => cacheMs), LONGEST_REFUSAL_MS),
    async validate(by, client) {
      const onBehalfOf = client && addressBlock(client);
      const { principal, reusableUntil } = await introspectAtEach(token, asked, by, onBehalfOf);
      return { value: { principal, by: undefined }, expiresAt: reusableUntil, bytes: introspectedBytes(principal) };
    },
  };
}

/**
 * Introspects a token at each server in the configured order until one knows it. While one server is unavailable, "not
 * active" from the others is no answer.
 *
 * @throws {Denial} `token.inactive` if no server knows it, `token.*` of the first that refuses it,
 *   `authorization_server.unavailable`.
 */
export async function introspectAtEach(
  token: string,
  asked: readonly { readonly introspect: Introspector }[],
  by: keyof Introspector,
  onBehalfOf?: string,
): Promise<Introspected> {
  let unavailable: unknown;
  for (const { introspect } of asked) {
    try {
      const outcome = await introspect[by](token, onBehalfOf);
      if (outcome.principal !== undefined) return outcome;
    } catch (error) {
      if (!(error instanceof Denial) || error.reason !== 'authorization_server.unavailable') throw error;
      unavailable = error;
    }
  }
  if (unavailable !== undefined) throw unavailable;
  const detail = 'no trusted authorization server reports it as active';
  throw new Denial('token.inactive', isEncrypted(token) ? `${detail}: ${encryptedToken}` : detail);
}

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
