import { reject } from '../../core/config/values.ts';
import { percentDecoded } from '../../core/lib/http/path-flaw.ts';
import { kindOf, kinds } from './store-url.ts';

/**
 * The URL of a Redis or Valkey: `redis://user:password@host:port/db`, `redis+sentinel:` for the primary that sentinels
 * name, or `redis+cluster:` for a cluster; `rediss` is TLS.
 */
export function storeUrl(text: string): string {
  const kind = kindOf(text);
  if (kind !== undefined) return urlReadBy(kinds[kind], text);
  if (!/^rediss?:\/\/[^/]/.test(text))
    reject('is not a redis:// or rediss:// URL, nor one that begins with redis+sentinel:// or redis+cluster://');
  // The parser drops spaces and line breaks and turns backslashes: two readers would then see two URLs.
  if (/[^\x21-\x7E]|\\/.test(text) || !URL.canParse(text))
    reject('is not a URL: percent-encode special characters in the password');
  const url = new URL(text);
  if (url.hostname === '') reject('has no host');
  if (/[?#]/.test(text)) reject('has a query or fragment: percent-encode special characters in the password');
  if (!/^(?:\/(?:0|[1-9][0-9]{0,4})?)?$/.test(url.pathname)) reject('has a path that is not a database number');
  if ([url.username, url.password].some((part) => percentDecoded(part) === undefined))
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
