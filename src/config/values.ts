import { durationMs, sizeBytes } from '../lib/quantity.ts';
import { either, quoted } from '../lib/wording.ts';

/** A text that a parser does not accept. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
  /** What to write instead, the value {@link quoted}. It is used only if the file itself holds the value. */
  readonly hint: string | undefined;

  /** @param message Follows the value: `is not an http(s) URL`. */
  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** The default maximum. Node fires a timer of more than 2^31 ms at once. */
const day = '24h';

/** `500ms`, `30s`, `5m` or `1h` in milliseconds, within bounds. */
export function duration(least: '0s' | '1ms' | '1s', most = day): (text: string) => number {
  return (text) => {
    const found = durationMs(text) ?? reject('is not a duration such as 500ms, 30s, 5m or 1h');
    if (found < (durationMs(least) ?? 0)) reject(`is too short: at least ${least}`);
    if (found > (durationMs(most) ?? 0)) reject(`is too long: at most ${most}`);
    return found;
  };
}

/** `512B`, `16KiB` or `1MiB` in bytes, from one byte to `most`. */
export function size(most: string): (text: string) => number {
  return (text) => {
    const found = sizeBytes(text) ?? reject('is not a size such as 512B, 16KiB or 1MiB');
    if (found < 1) reject('is too small');
    if (found > (sizeBytes(most) ?? 0)) reject(`is too large: at most ${most}`);
    return found;
  };
}

/** A whole number from one to a million. */
export function wholeNumber(text: string): number {
  return /^[1-9][0-9]{0,5}$|^1000000$/.test(text) ? Number(text) : reject('is not a whole number from 1 to 1000000');
}

/** A fraction from 0 to 1, in decimal digits. */
export function fraction(text: string): number {
  return /^(?:0(?:\.[0-9]+)?|1(?:\.0+)?)$/.test(text) ? Number(text) : reject('is not a number from 0 to 1');
}

/** `30m`, `12h` or `90d` in milliseconds, from a minute to a year. */
export function longDuration(text: string): number {
  const found = durationMs(text) ?? reject('is not a duration such as 30m, 12h or 90d');
  if (found < 60_000) reject('is too short: at least 1m');
  if (found > 365 * 86_400_000) reject('is too long: at most 365d');
  return found;
}

/** One of several words, in exactly that case. */
export function oneOf<const Word extends string>(...words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const meant = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (meant === text) return meant;
    return reject(`is not ${either(words)}`, meant === undefined ? undefined : `did you mean ${meant}?`);
  };
}

/** Any string. */
export function anyText(text: string): string {
  return text;
}

/** A secret that cannot be guessed. */
export function longSecret(text: string): string {
  if (text.length < 32) reject('is too short: at least 32 characters');
  return new Set(text).size < 10
    ? reject('is not random enough: generate it, for example by openssl rand -hex 32')
    : text;
}

/** The token of the admin listener, as a header carries it. The listener limits the guesses of one address. */
export function adminToken(text: string): string {
  if (!/^[!-~]+$/.test(text)) reject('is not visible ASCII without spaces');
  return text.length < 8 ? reject('is too short: at least 8 characters') : text;
}

/** The name of a route or policy. */
export function name(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)) return text;
  return reject('is not a name of letters, digits, dots, dashes and underscores');
}

/** The name of a policy; its file has the name with `.yaml`. */
export function policyName(text: string): string {
  const [, plain] = /^(?:.*\/)?([\w.-]+)\.ya?ml$/.exec(text) ?? [];
  return plain === undefined ? name(text) : reject('is a file, not the name of a policy', `write ${quoted(plain)}`);
}

/** A scope-token, RFC 6749 §3.3. */
export function scopeToken(text: string): string {
  return /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(text) ? text : reject('is not a scope, RFC 6749 §3.3');
}

/** A method that a route may accept, RFC 9110 §9.1: case-sensitive, and all that are registered are upper case. */
export function method(text: string): string {
  if (!/^[A-Z][A-Z-]*$/.test(text))
    reject('is not an HTTP method in upper case', `write ${quoted(text.toUpperCase())}`);
  // CONNECT opens a tunnel and TRACE echoes the client's headers: neither can be forwarded safely.
  return text === 'CONNECT' || text === 'TRACE' ? reject('is never forwarded') : text;
}

/** A `typ` header value, RFC 7515 §4.1.9: media types, where `application/` may be left out. */
export function tokenType(text: string): string {
  const type = text.toLowerCase().replace(/^application\//, '');
  return /^[\w!#$&^.+-]+$/.test(type) ? type : reject('is not a type such as at+jwt');
}

/** A domain name in lower case, RFC 1035 §2.3.1. */
export function domain(text: string): string {
  const found = text.toLowerCase();
  return /^(?:[a-z0-9-]+\.)+[a-z0-9-]+$/.test(found) ? found : reject('is not a domain such as acme.com');
}

/** The beginning of an opaque token: characters of `b64token`, RFC 6750 §2.1, but for the padding at its end. */
export function tokenPrefix(text: string): string {
  return /^[A-Za-z0-9._~+/-]+$/.test(text) ? text : reject('is not the beginning of a token, RFC 6750 §2.1');
}

/** Every signature algorithm that may be accepted. */
export const signatureAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
const algorithms = oneOf(...signatureAlgorithms);

/** An asymmetric signature algorithm, RFC 7518 §3.1, RFC 8037, RFC 9864. */
export function algorithm(text: string): string {
  if (/^none$/i.test(text)) reject('means unsigned: any party could make such a token');
  // RFC 8725 §3.1: with HS256 a server's *public* key is also the secret that forges its tokens.
  if (/^HS\d+$/i.test(text)) reject('is symmetric: every party that can verify such a token can also forge one');
  return algorithms(text);
}

/**
 * A route's path in its canonical form, which is how requests are matched.
 *
 * A path that a client and an upstream could read differently is rejected, and so are wildcards: a path covers
 * everything below it anyway.
 */
export function routePath(text: string): string {
  if (!text.startsWith('/')) reject('does not start with /', `write ${quoted(`/${text}`)}`);
  if (text === '/') return text;
  if (/[*{}]/.test(text)) reject('has a wildcard: a path already covers everything below it');
  const [odd] = /[^\w\-.~!$&'()+,=:@/]/.exec(text) ?? [];
  if (odd !== undefined) reject('has a character that servers read in different ways', `it is ${JSON.stringify(odd)}`);
  if (text.endsWith('/')) reject('ends with a slash', `write ${quoted(text.replace(/\/+$/, '') || '/')}`);
  if (text.includes('//')) reject('has an empty segment');
  if (/\/\.\.?(?:\/|$)/.test(text)) reject('has a dot segment');
  if (/^\/\.well-known\/(?:oauth-protected-resource|sallyport-jwks\.json)(?:\/|$)/i.test(text)) {
    reject('is answered by the gateway itself');
  }
  return text;
}

/** Throws {@link InvalidValue}, also where an expression is needed. */
export function reject(message: string, hint?: string): never {
  throw new InvalidValue(message, hint);
}
