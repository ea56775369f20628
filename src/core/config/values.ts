import { X509Certificate } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { addressBits, isMappedIPv4 } from '../lib/ip-address.ts';
import type { Address } from '../model/listen.ts';
import { claimReader, memberReader, pointerReader } from '../lib/json/pointer.ts';
import { quoted, didYouMean } from '../lib/wording.ts';
import type { RecordedClaim } from '../model/outcome.ts';
import type { RecordedArguments } from '../model/outcome.ts';

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

/**
 * A parser that reads a name as the entry that has it.
 *
 * @param message Refuses any other name.
 * @param hint Follows where no name is near.
 */
export function entryOf<Entry extends {}>(
  entries: ReadonlyMap<string, Entry>,
  message: string,
  hint?: string,
): (name: string) => Entry {
  return (name) => {
    const near = didYouMean(name, [...entries.keys()]);
    return entries.get(name) ?? reject(message, near === undefined ? hint : `did you mean ${near}?`);
  };
}

/** Any string. */
export function anyText(text: string): string {
  return text;
}

/** A claim to record, by name or JSON Pointer. */
export function recordedClaim(name: string): RecordedClaim {
  return { name, read: claimReader(name) ?? reject('is not a JSON Pointer', 'write ~0 for ~ and ~1 for / in it') };
}

/** An argument that records show, as a JSON Pointer. */
export function recordedArgument(pointer: string): RecordedArguments['show'][number] {
  return { pointer, read: pointerReader(pointer) ?? reject('is not a JSON Pointer, RFC 6901 §3') };
}

/** The name of a claim, or a JSON Pointer to one. */
export function claimName(text: string): string {
  return memberReader(text) === undefined ? reject('is not a JSON Pointer, RFC 6901 §3') : text;
}

/** A secret that cannot be guessed. */
export function longSecret(text: string): string {
  if (text.length < 32) reject('is too short: at least 32 characters');
  return new Set(text).size < 10
    ? reject('is not random enough: generate it, for example by openssl rand -hex 32')
    : text;
}

/** Whether two listeners would share a socket. The system chooses another port for each port 0. */
export function isSameAddress(one: Address, other: Address | undefined): boolean {
  return one.port !== 0 && one.port === other?.port && one.host === other.host;
}

/** The token of the admin listener, as a header carries it. The listener limits the guesses of one address. */
export function adminToken(text: string): string {
  if (!/^[!-~]+$/.test(text)) reject('is not visible ASCII without spaces');
  return text.length < 8 ? reject('is too short: at least 8 characters') : text;
}

/** A scope, RFC 6749 §3.3. The schema checks its characters. */
export function scope(text: string): string {
  return text.includes(' ') ? reject('is not a scope, RFC 6749 §3.3', listRemedy(text)) : text;
}

/** The value of a header field. */
export function headerValue(text: string): string {
  return /^[!-~](?:[\t -~]*[!-~])?$/.test(text) ? text : reject('is not a header value: use visible ASCII characters');
}

/** A method that a route may accept, RFC 9110 §9.1: case-sensitive, and all that are registered are upper case. */
export function method(text: string): string {
  if (/[\s,]/.test(text)) reject('is not one HTTP method', listRemedy(text.toUpperCase()));
  if (text !== text.toUpperCase()) reject('is not an HTTP method in upper case', `write ${quoted(text.toUpperCase())}`);
  // CONNECT opens a tunnel and TRACE echoes the client's headers: neither can be forwarded safely.
  return text === 'CONNECT' || text === 'TRACE' ? reject('is never forwarded') : text;
}

/** A `typ` header value, RFC 7515 §4.1.9: media types, where `application/` may be left out. */
export function tokenType(text: string): string {
  const type = text.toLowerCase().replace(/^application\//, '');
  return /^[\w!#$&^.+-]+$/.test(type) ? type : reject('is not a type such as at+jwt');
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

/** The remedy for several texts in one. */
export function listRemedy(text: string): string {
  return `write a list, [${text.split(/[\s,]+/).join(', ')}]`;
}

/** Throws {@link InvalidValue}, also where an expression is needed. */
export function reject(message: string, hint?: string): never {
  throw new InvalidValue(message, hint);
}

/** An origin in the form of RFC 6454 §6.2: `https://gateway.example`. */
export function origin(text: string): string {
  const url = httpUrl(text);
  if (url.origin === text) return text;
  return reject(
    'is not a bare origin: no path, query, trailing slash, default port or capitals',
    `write "${url.origin}"`,
  );
}

/** A label of a host name, RFC 1123 §2.1. */
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const originOfSubdomains = new RegExp(`^https?://\\*(?:\\.${label}){2,}(?::[1-9][0-9]{0,4})?$`);
/** Of a page of an app, whose host is the app's own name. `*`: any. */
const originOfApp = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/(?:\*|[A-Za-z0-9._-]+)$/;

/** An origin of `allowed_origins`: bare, `https://*.example.com`, or that of an app, such as `tauri://localhost`. */
export function allowedOrigin(text: string): string {
  if (originOfSubdomains.test(text) || originOfApp.test(text)) return text;
  if (text.includes('*'))
    return reject(
      'is no pattern of origins',
      'write https://*.example.com, with two labels at least after the wildcard, or SCHEME://* for an app',
    );
  return origin(text);
}

/** An http(s) URL without query and fragment, byte for byte as written, because RFC 8414 §2 compares issuers so. */
export function plainUrl(text: string): string {
  httpUrl(text);
  return /[?#]/.test(text) ? reject('has a query or fragment') : text;
}

/** An issuer, RFC 8414 §2. The URL of its metadata is a common mistake: no token names it as `iss`. */
export function issuerUrl(text: string): string {
  const url = plainUrl(text);
  const [, before, after = ''] =
    /^([^]*?)\/\.well-known\/(?:openid-configuration|oauth-authorization-server)(\/[^]*)?$/.exec(url) ?? [];
  if (before === undefined) return url;
  return reject(
    'is the URL of metadata, not an issuer',
    `write the issuer that they name, such as ${quoted(before + after.replace(/\/$/, ''))}`,
  );
}

/** The URL of an endpoint. It may have a query, RFC 6749 §3.2, but no fragment. */
export function endpointUrl(text: string): string {
  httpUrl(text);
  return text.includes('#') ? reject('has a fragment') : text;
}

/** The URL of a page for people. */
export function pageUrl(text: string): string {
  httpUrl(text);
  return text;
}

/** An absolute URI without fragment, RFC 8707 §2. */
export function resourceUri(text: string): string {
  return URL.canParse(text) && !text.includes('#') ? text : reject('is not an absolute URI without fragment');
}

/** The target of forwarded requests: the origin, and the path without a trailing slash, `''` for the root. */
export function upstreamUrl(text: string): { readonly origin: string; readonly path: string } {
  const { origin, pathname } = new URL(plainUrl(text));
  return { origin, path: pathname.replace(/\/+$/, '') };
}

function httpUrl(text: string): URL {
  // The parser drops spaces and line breaks and turns backslashes: two readers would then see two URLs. Braces belong
  // to a template that was not filled in, such as Entra ID's `{tenantid}`.
  if (!/^https?:\/\/[^/]/.test(text) || /[^\x21-\x7E]|[\\{}]/.test(text) || !URL.canParse(text)) {
    const remedy =
      /^[a-z]+:\/\//i.test(text) || /[^\x21-\x7E]|[@\\]/.test(text) ? '' : ': begin it with http:// or https://';
    reject(`is not an http(s) URL${remedy}`);
  }
  const url = new URL(text);
  if (url.hostname.includes('*')) reject('has a * in its host', 'name each host');
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/.test(text))
    reject('contains a user or password');
  return url;
}

/** `host:port`, where an IPv6 host is in brackets. */
export function address(text: string): Address {
  return parseAddress(text) ?? reject('is not an address such as 127.0.0.1:8080');
}

/** The parts of an address such as `127.0.0.1:8080`; undefined for any other text. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([A-Za-z0-9.-]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535) return undefined;
  return bracketed === undefined || isIPv6(bracketed) ? { host, port } : undefined;
}

/** A host as in a Host header, without a port. */
export function hostName(text: string): string {
  const host = text.toLowerCase();
  if (/^[a-z0-9._-]+$/.test(host)) return host;
  if (host.startsWith('[') && host.endsWith(']') && isIPv6(host.slice(1, -1))) return host;
  return reject('is not a host name without port', host.includes('*') ? 'name each host' : undefined);
}

/** An address, or a network in CIDR notation (RFC 4632 §3.1, RFC 4291 §2.3), in lower case. */
export function network(text: string): string {
  const [address = '', prefix, ...rest] = text.toLowerCase().split('/');
  const size = isIPv4(address) ? 32 : 128;
  if (rest.length > 0 || !(isIPv4(address) || (isIPv6(address) && !address.includes('%')))) {
    reject('is neither an address nor a network such as 10.0.0.0/8');
  }
  // Peers are compared in the form of IPv4, however the socket gives them.
  if (size === 128 && isMappedIPv4(addressBits(address))) reject('is an IPv4 address: write it in dotted form');
  if (prefix === undefined) return address;
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(prefix) || Number(prefix) > size)
    reject(`has a prefix length that is not 0 to ${size}`);
  // `10.1.2.3/8`: one address or sixteen million? The gateway does not guess what to trust.
  if ((addressBits(address) & ((1n << BigInt(size - Number(prefix))) - 1n)) !== 0n) {
    reject('has bits beyond its prefix: write the address of the network, or the address without a prefix');
  }
  return `${address}/${prefix}`;
}

/** The text of a file with certificates, as PEM. */
export function certificates(text: string): string {
  try {
    return new X509Certificate(text).raw.length > 0 ? text : '';
  } catch {
    return reject('names a file without a certificate in PEM');
  }
}
