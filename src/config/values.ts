import { claimReader } from '../lib/json/pointer.ts';
import { quoted } from '../lib/wording.ts';
import type { RecordedClaim } from '../model/record-details.ts';

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

/** Any string. */
export function anyText(text: string): string {
  return text;
}

/** A claim to record, by name or JSON Pointer. */
export function recordedClaim(name: string): RecordedClaim {
  return { name, read: claimReader(name) ?? reject('is not a JSON Pointer', 'write ~0 for ~ and ~1 for / in it') };
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

/** The value of a header field. */
export function headerValue(text: string): string {
  return /^[!-~](?:[\t -~]*[!-~])?$/.test(text) ? text : reject('is not a header value: use visible ASCII characters');
}

/** The name of a policy; its file has the name with `.yaml`. */
export function policyName(text: string): string {
  const [, plain] = /^(?:.*\/)?([\w.-]+)\.ya?ml$/.exec(text) ?? [];
  return plain === undefined ? text : reject('is a file, not the name of a policy', `write ${quoted(plain)}`);
}

/** A method that a route may accept, RFC 9110 §9.1: case-sensitive, and all that are registered are upper case. */
export function method(text: string): string {
  if (/[\s,]/.test(text))
    reject(
      'is not one HTTP method',
      `write a list, [${text
        .toUpperCase()
        .split(/[\s,]+/)
        .join(', ')}]`,
    );
  if (text !== text.toUpperCase()) reject('is not an HTTP method in upper case', `write ${quoted(text.toUpperCase())}`);
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
  return text.toLowerCase();
}

/** A signature algorithm, RFC 7518 §3.1, RFC 8037, RFC 9864. The schema lists only asymmetric ones. */
export function algorithm(text: string): string {
  if (/^none$/i.test(text)) reject('means unsigned: any party could make such a token');
  // RFC 8725 §3.1: with HS256 a server's *public* key is also the secret that forges its tokens.
  if (/^HS\d+$/i.test(text)) reject('is symmetric: every party that can verify such a token can also forge one');
  return text;
}

/**
 * A route's path in its canonical form, which is how requests are matched.
 *
 * A path that a client and an upstream could read differently is rejected, and so are wildcards: a path covers
 * everything below it anyway.
 */
export function routePath(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text))
    reject('is a URL', `write its path, ${quoted(new URL(text).pathname)}`);
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
