import { namesCluster, namesSentinel, readClusterUrl, readSentinelUrl } from '../lib/store-url.ts';
import { quoted } from '../lib/wording.ts';
import { reject } from './values.ts';

/** An origin in the form of RFC 6454 §6.2: `https://gateway.example`. */
export function origin(text: string): string {
  const url = httpUrl(text);
  if (url.origin === text) return text;
  return reject(
    'is not a bare origin: no path, query, trailing slash, default port or capitals',
    `write "${url.origin}"`,
  );
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
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/.test(text))
    reject('contains a user or password');
  return url;
}

/**
 * The URL of a Redis or Valkey: `redis://user:password@host:port/db`, `redis+sentinel:` for the primary that sentinels
 * name, or `redis+cluster:` for a cluster; `rediss` is TLS.
 */
export function storeUrl(text: string): string {
  if (namesSentinel(text)) return urlReadBy(readSentinelUrl, text);
  if (namesCluster(text)) return urlReadBy(readClusterUrl, text);
  if (!/^rediss?:\/\/[^/]/.test(text))
    reject('is not a redis:// or rediss:// URL, nor one that begins with redis+sentinel:// or redis+cluster://');
  // The parser drops spaces and line breaks and turns backslashes: two readers would then see two URLs.
  if (/[^\x21-\x7E]|\\/.test(text) || !URL.canParse(text))
    reject('is not a URL: percent-encode special characters in the password');
  const url = new URL(text);
  if (url.hostname === '') reject('has no host');
  if (/[?#]/.test(text)) reject('has a query or fragment: percent-encode special characters in the password');
  if (!/^(?:\/(?:0|[1-9][0-9]{0,4})?)?$/.test(url.pathname)) reject('has a path that is not a database number');
  if (!isEncoded(url.username) || !isEncoded(url.password))
    reject('has a user or password that is not percent-encoded');
  return text;
}

function urlReadBy(read: (text: string) => unknown, text: string): string {
  try {
    read(text);
    return text;
  } catch (error) {
    return reject(error instanceof TypeError ? error.message : 'is not a URL');
  }
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
