import { isIP } from 'node:net';
import { type IsWithin, plainAddress } from '../ip-address.ts';

/** RFC 9110 §7.6.1: fields for one connection only, in lower case. The gateway forwards them in neither direction. */
export const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The fields that a `Connection` header nominates; undefined for its two common values. */
export function nominatedBy(connection: string): ReadonlySet<string> | undefined {
  const options = connection.toLowerCase();
  if (options === 'keep-alive' || options === 'close') return undefined;
  return new Set(connectionOptions(options));
}

/** The options of a `Connection` header in lower case, RFC 9110 §7.6.1. */
export function connectionOptions(connection: string): readonly string[] {
  return connection.split(',').map((option) => option.trim().toLowerCase());
}

/** Whether a request's header section announces a body, RFC 9112 §6.3. */
export function declaresBody(fields: {
  readonly transferEncoding: string | undefined;
  readonly contentLength: string | undefined;
}): boolean {
  return fields.transferEncoding !== undefined || Number(fields.contentLength ?? 0) !== 0;
}

/** The values of all cookies with this name in a `Cookie` field, RFC 6265 §4.2.1, in their order. */
export function cookiesNamed(name: string, field = ''): readonly string[] {
  return pairsOf(field)
    .filter((pair) => nameOf(pair) === name)
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
}

/** A `Cookie` field without the cookies whose name matches; empty if there is no other. */
export function withoutCookies(name: RegExp, field: string): string {
  return pairsOf(field)
    .filter((pair) => !name.test(nameOf(pair)))
    .join('; ');
}

function pairsOf(field: string): readonly string[] {
  return field.split(';').map((pair) => pair.trim());
}

function nameOf(pair: string): string {
  return pair.split('=', 1)[0]?.trim() ?? '';
}

/**
 * The time for which an answer is fresh by its `Cache-Control`, in milliseconds, RFC 9111 §5.2.2; undefined if it does
 * not say.
 */
export function maxAgeMs(cacheControl: string | undefined): number | undefined {
  if (cacheControl === undefined) return undefined;
  const directives = cacheControl.split(',').map((directive) => directive.trim().toLowerCase());
  if (directives.includes('no-store') || directives.includes('no-cache')) return 0;
  const seconds = directives.map((directive) => /^max-age="?(\d+)"?$/.exec(directive)?.[1]).find(Boolean);
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** The wait that a `Retry-After` asks for, in milliseconds, RFC 9110 §10.2.3; undefined for a value that is not one. */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  // Only IMF-fixdate, which every sender MUST use (RFC 9110 §5.6.7): Date.parse reads any number as a date.
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(at - now, 0);
}

/** A wait as RFC 9110 §10.2.3 `delay-seconds`: rounded up, and never `0`, which means now. */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1000));
}

const MAX_HOPS = 32;

/**
 * The hops of a request, from the client to `peer`. Each address was seen by the trusted proxy after it. An entry
 * counts only if every address after it is trusted: the client could have written the others.
 */
export function hopsBefore(peer: string, forwardedFor: string, isTrusted: IsWithin): readonly string[] {
  const hops = [peer];
  for (const entry of forwardedFor.split(',').toReversed()) {
    const address = addressIn(entry.trim());
    if (address === undefined || hops.length > MAX_HOPS) break;
    hops.unshift(address);
    if (!isTrusted(address)) break;
  }
  return hops;
}

/** An address as proxies write it: some add a port, and put IPv6 in brackets. */
function addressIn(entry: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(entry) ?? [];
  const address = bracketed ?? dotted ?? entry;
  // A zone (`fe80::1%eth0`) has a meaning on one machine only.
  return isIP(address) === 0 || address.includes('%') ? undefined : plainAddress(address.toLowerCase());
}
