import { addressBlock } from '../../lib/ip-address.ts';
import type { Clock } from '../../lib/clock.ts';
import { createSingleFlight } from '../../lib/single-flight.ts';
import type { Call } from '../../model/call.ts';
import type { CountLookup } from '../../model/events.ts';
import { Denial, isTokenDenial } from '../../model/denial.ts';
import type { AccessToken, PresentedToken, RefusedToken } from '../../model/grant.ts';
import type { Failures } from '../../model/limits.ts';
import type { Principal, TokenForm } from '../../model/principal.ts';
import type { Route } from '../../model/route.ts';
import { notAccepted } from './found.ts';
import { introspectAtEach, shortestReuse, type TokenAuthority } from './introspect-each.ts';
import type { Introspector, SharedIntrospector } from './introspection.ts';
import { claimedIssuer, encryptedToken, isEncrypted, type JwtVerifier } from './jwt.ts';
import type { KeySource } from './keys.ts';
import { createRefusedTokens, createVerifiedTokens, introspectedBytes, tokenKey } from './known-tokens.ts';

/** Validates tokens for all routes that trust the same servers. The audience is checked afterwards. */
export interface CachedVerifier {
  authenticate(token: PresentedToken, call: Call, failures: Failures): Principal | Promise<Principal>;
  /** Validates past the cache. `client`: the address of the caller, if there is one. */
  revalidate(token: PresentedToken, client?: string): Promise<Principal>;
  /** Evicts a valid token: its next use validates it again. */
  evict(key: string): void;
  /** Evicts the valid tokens of these callers, and returns their keys with the issuers. */
  evictWhere(isMeant: (principal: Principal) => boolean): readonly { readonly key: string; readonly issuer: string }[];
}

/** One authorization server as a validator of tokens. */
export interface Authority extends TokenAuthority {
  readonly issuer: string;
  /** The `iss` values of its tokens, {@link issuer} among them. */
  readonly issuers: readonly string[];
  readonly keys: KeySource;
  readonly verify: JwtVerifier | undefined;
  readonly introspect: SharedIntrospector | undefined;
}

/**
 * Creates an empty cache in front of `authorities`. It keeps valid tokens until they expire and refused ones for a few
 * seconds; parallel requests with one token share its validation.
 *
 * @param onRefused Called for each refused token; without issuers if an error left its validity unknown.
 */
export function createCachedVerifier(
  authorities: readonly Authority[],
  forms: Route['tokens'],
  count: CountLookup,
  onRefused: (refused: RefusedToken) => void,
  clock: Clock,
): CachedVerifier {
  const known = createVerifiedTokens(clock);
  const refused = createRefusedTokens(clock);
  const flight = createSingleFlight<Principal>();

  return {
    authenticate(token, call, failures) {
      const key = tokenKey(token);
      const principal = known.get(key);
      if (principal !== undefined) {
        count('token', 'hit');
        return principal;
      }
      const refusal = refused.get(key);
      count('token', refusal === undefined ? 'miss' : 'negative');
      if (refusal !== undefined) throw refusal;
      const check = tokenCheckOf(token.value);
      const verifyOnce = (): Promise<Principal> =>
        flight(key, () => verifyUnlessKnown(token.value, key, check, call.client));
      // A signature check costs no call to a server, so that the limit of failures does not apply.
      if (check.verify !== undefined || check.trusted.length === 0) return verifyOnce();
      return failures.guard({ call, servers: check.issuers.join(' '), token: key }, verifyOnce);
    },
    async revalidate(token, client) {
      const key = tokenKey(token);
      refused.delete(key);
      try {
        // Not shared with callers that may use a cached answer.
        return await flight(`afresh ${key}`, () =>
          verify(token.value, key, tokenCheckOf(token.value), 'afresh', client),
        );
      } catch (error) {
        // A bug: the token's validity is unknown.
        if (!(error instanceof Denial)) onRefused({ key, issuers: [], reason: 'gateway.error' });
        throw error;
      }
    },
    evict: (key) => known.delete(key),
    evictWhere: (isMeant) => known.deleteWhere(isMeant),
  };

  /** While this call waited, another one may have filled the cache. */
  async function verifyUnlessKnown(
    token: AccessToken,
    key: string,
    check: TokenCheck,
    client: string,
  ): Promise<Principal> {
    const refusal = refused.get(key);
    if (refusal !== undefined) throw refusal;
    return known.get(key) ?? verify(token, key, check, 'known', client);
  }

  /** @throws {Denial} `token.form`, `token.issuer`, without a call to a server. */
  function tokenCheckOf(token: AccessToken): TokenCheck {
    const issuer = claimedIssuer(token);
    const form = issuer === undefined ? 'opaque' : 'jwt';
    if (!forms.has(form) && isEncrypted(token)) throw new Denial('token.form', encryptedToken);
    if (!forms.has(form)) throw new Denial('token.form', notAcceptedForm(form, authorities));
    const trusted = authorities.filter((each) =>
      issuer === undefined ? each.maySee(token) : each.issuers.includes(issuer),
    );
    const [first] = trusted;
    if (first === undefined) {
      const detail =
        issuer === undefined
          ? 'no authorization server that the route trusts has the introspection.prefix that the token begins with'
          : notAccepted(
              'iss',
              issuer,
              authorities.flatMap((each) => each.issuers),
            );
      throw new Denial('token.issuer', detail);
    }
    const { verify: verifyJwt, keys } = first;
    if (issuer !== undefined && verifyJwt !== undefined) return { verify: verifyJwt, keys, issuers: [first.issuer] };
    const asked = trusted.filter(({ introspect }) => introspect !== undefined);
    return { verify: undefined, trusted: asked, issuers: asked.map((each) => each.issuer) };
  }

  async function verify(
    token: AccessToken,
    key: string,
    check: TokenCheck,
    by: keyof Introspector,
    client?: string,
  ): Promise<Principal> {
    try {
      if (check.verify === undefined) return await introspect(token, key, check.trusted, by, client);
      const { keys } = check;
      const { generation } = keys;
      const principal = await check.verify(token);
      known.set(key, principal, expiryOf(principal), token.length, { keys, generation });
      return principal;
    } catch (error) {
      if (isTokenDenial(error)) onRefused({ key, issuers: check.issuers, reason: error.reason });
      throw error;
    }
  }

  async function introspect(
    token: AccessToken,
    key: string,
    trusted: readonly Authority[],
    by: keyof Introspector,
    client: string | undefined,
  ): Promise<Principal> {
    try {
      const { principal, reusableUntil } = await introspectAtEach(token, trusted, by, client && addressBlock(client));
      known.set(key, principal, reusableUntil, introspectedBytes(principal));
      return principal;
    } catch (error) {
      if (isTokenDenial(error)) refused.set(key, error, shortestReuse(trusted));
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

/** Names the setting that makes a route refuse tokens of `form`. */
function notAcceptedForm(form: TokenForm, authorities: readonly Authority[]): string {
  const isOpaque = form === 'opaque';
  const canValidate = authorities.some(({ introspect, verify }) => (isOpaque ? introspect : verify) !== undefined);
  if (canValidate) return `the route accepts ${isOpaque ? 'JWTs' : 'opaque tokens'} only: add ${form} to its tokens`;
  const cause = `none of its authorization servers has ${isOpaque ? 'introspection' : 'jwt'}`;
  return `the route does not accept ${isOpaque ? 'opaque tokens' : 'JWTs'}: ${cause}`;
}

function expiryOf(principal: Principal): number {
  return principal.expiresAt === undefined ? Infinity : principal.expiresAt * 1000;
}
