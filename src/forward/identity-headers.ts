import { memberReader } from '../json/pointer.ts';
import type { Clock } from '../lib/clock.ts';
import { signEs256 } from '../lib/es256.ts';
import type { RotatingKeys, SigningKey } from '../lib/rotating-keys.ts';
import { plainName } from '../model/client-fields.ts';
import { Denial } from '../model/denial.ts';
import type { Principal } from '../model/principal.ts';
import type { Route, SignedIdentity } from '../model/route.ts';

/** What a route tells its upstream of callers. */
export interface IdentityHeaders {
  /** Every name that it may use, in lower case. */
  readonly names: readonly string[];
  /**
   * Adds name, value, name, value, …; nothing for a claim that the token lacks.
   *
   * @throws {Denial} `claim.denied` for a claim that no header can carry.
   */
  addTo(headers: string[], principal: Principal, decision: string): void;
}

/**
 * Every name under which one of `routes` may say who calls, by its {@link plainName}: a client's own is none on any of
 * them, for several may lead to one upstream, and on a public one nothing would be put in its place.
 */
export function identityNames(routes: readonly Route[]): ReadonlySet<string> {
  return new Set(routes.flatMap((route) => namesOf(route).map(plainName)));
}

function namesOf({ upstream: { identity, signedIdentity } }: Route): readonly string[] {
  return [...identity.keys(), ...(signedIdentity === undefined ? [] : [signedIdentity.header])];
}

/**
 * Creates the identity headers of a route.
 *
 * @param sign Makes the signed statement who calls; undefined where the route sends none.
 */
export function createIdentityHeaders(route: Route, sign: SignIdentity | undefined): IdentityHeaders {
  const { upstream } = route;
  const claims = [...upstream.identity].map(([name, claim]) => [name, claimReader(claim)] as const);
  const signedHeader = upstream.signedIdentity?.header;
  return {
    names: namesOf(route),
    addTo(headers, principal, decision) {
      for (const [name, read] of claims) {
        const value = headerValue(read(principal));
        if (value !== undefined) headers.push(name, value);
      }
      if (signedHeader !== undefined && sign !== undefined) headers.push(signedHeader, sign(principal, decision));
    },
  };
}

/** Reads what an identity header says. */
type ClaimReader = (principal: Principal) => unknown;

/** A claim, named as in a policy; the client as the principal has it, since some tokens call it otherwise. */
function claimReader(claim: string): ClaimReader {
  const read = memberReader(claim);
  if (read === undefined) throw new TypeError(`${claim} is not a JSON Pointer`);
  if (claim === 'client_id') return (principal) => principal.clientId ?? read(principal.claims);
  return (principal) => read(principal.claims);
}

/** Separates the members of a list in a field value. */
const SEPARATOR = ',';
/** What a member cannot carry as it is: controls, non-ASCII, the separator, `%`, and spaces at its ends. */
const encoded = new RegExp(`[^ -~]|[%${SEPARATOR}]|^ | $`, 'gu');

/**
 * A claim as a field value: scalars as they are, a list of scalars comma-separated. What a field cannot carry (controls,
 * non-ASCII), a comma and `%` itself are percent-encoded as UTF-8, so that it decodes to exactly the claim and can
 * neither end the line nor add a member: a name with a comma in it, which its owner may choose, is no list.
 *
 * @throws {Denial} `claim.denied` for an object, which has no such form.
 */
function headerValue(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  return Array.isArray(value) ? value.map(scalar).join(SEPARATOR) : scalar(value);
}

function scalar(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw new Denial('claim.denied', 'a claim for an identity header is neither a scalar nor a list of scalars');
  }
  return String(value).toWellFormed().replace(encoded, encodeURIComponent);
}

/** Makes the statement who calls, as one JWT; `decision` is the id of the decision that let the call pass. */
export type SignIdentity = (principal: Principal, decision: string) => string;

/** Of one statement: it is about one request, which is on its way already. */
const LIFETIME_SECONDS = 60;

/** RFC 8725 §3.11: a type of its own, so that nobody can take it for an access token, nor one for it. */
const TYPE = 'sallyport-identity+jwt';

/**
 * Creates the signing of `identity`, an RFC 7519 JWT by the gateway (`iss`) for one upstream (`aud`): who calls, by which
 * client, with which scopes, and which server vouched for it (`token_issuer`), since a subject is one only there.
 */
export function createSignIdentity(
  identity: SignedIdentity,
  issuer: string,
  keys: RotatingKeys,
  clock: Clock,
): SignIdentity {
  const readers = identity.claims.map((name) => [name, memberReader(name)] as const);
  let headerOf: SigningKey | undefined;
  let header = '';

  function chosen(principal: Principal): Record<string, unknown> {
    // `fromEntries` makes own members, also of a claim called `__proto__`.
    return Object.fromEntries(readers.map(([name, read]) => [name, read?.(principal.claims)]));
  }

  return (principal, decision) => {
    const now = clock();
    const key = keys.current(now);
    if (key !== headerOf) {
      header = base64url({ alg: 'ES256', typ: TYPE, kid: key.publicKey.kid });
      headerOf = key;
    }
    const issuedAt = Math.floor(now / 1000);
    const input = `${header}.${base64url({
      ...(readers.length > 0 && chosen(principal)),
      iss: issuer,
      aud: identity.audience,
      sub: principal.subject,
      client_id: principal.clientId,
      scope: scopeOf(principal),
      token_issuer: principal.issuer,
      jti: decision,
      iat: issuedAt,
      exp: Math.min(issuedAt + LIFETIME_SECONDS, Math.floor(principal.expiresAt ?? Infinity)),
    })}`;
    return `${input}.${signEs256(input, key.privateKey)}`;
  };
}

/**
 * With all that the configured scopes imply, since that is what was decided by; an upstream knows nothing of them.
 * RFC 6749 §3.3: no space is within a scope. A server that puts one there must not make two of one.
 */
function scopeOf({ scopes }: Principal): string {
  return [...scopes].filter((scope) => !scope.includes(' ')).join(' ');
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
