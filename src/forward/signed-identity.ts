import type { Clock } from '../lib/clock.ts';
import { signEs256 } from '../lib/es256.ts';
import type { RotatingKeys, SigningKey } from '../lib/rotating-keys.ts';
import type { Principal } from '../model/principal.ts';
import type { SignedIdentity } from '../model/route.ts';
import { memberReader } from '../json/pointer.ts';

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
