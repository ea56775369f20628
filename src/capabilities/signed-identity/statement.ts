import { memberReader } from '../../core/lib/json/pointer.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { type RotatingKeys, signEs256, type SigningKey } from '../../tokens/rotating-keys.ts';
import type { StatesCaller } from '../../core/model/on-route.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { SignedIdentity } from './slot.ts';

/** The lifetime of a signed identity, which is about one request in flight. */
const LIFETIME_SECONDS = 60;

/** RFC 8725 §3.11: a type of its own, so that a signed identity and an access token cannot be confused. */
const TYPE = 'sallyport-identity+jwt';

/**
 * Creates the signing of `identity`, an RFC 7519 JWT from the gateway (`iss`) for one upstream (`aud`). It names the
 * subject, the client, the scopes, and the authorization server (`token_issuer`), because a subject is unique only
 * there.
 */
export function createStatement(
  identity: Pick<SignedIdentity, 'audience' | 'claims'>,
  issuer: string,
  keys: RotatingKeys,
  clock: Clock,
): StatesCaller['of'] {
  const readers = identity.claims.map((name) => [name, memberReader(name)] as const);
  let headerOf: SigningKey | undefined;
  let header = '';

  function chosen(principal: Principal): Record<string, unknown> {
    // `fromEntries` makes own members, also for a claim called `__proto__`.
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
 * The scopes with all that they imply by configuration: the gateway decided by these, and an upstream does not know the
 * hierarchy. RFC 6749 §3.3: a scope has no space. One with a space is left out, so that it is not read as two.
 */
function scopeOf({ scopes }: Principal): string {
  return [...scopes].filter((scope) => !scope.includes(' ')).join(' ');
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
