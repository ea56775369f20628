/**
 * @module Names of `requests`: a method and a path, and which requests they cover, as they are written and as a lenient
 * server reads them.
 */

import { pathFlaw } from '../lib/http/path-flaw.ts';
import { withoutInvisible } from '../lib/look-alike.ts';

/** A name of `requests`, compiled: `GET /orders/*`. */
export interface RequestPattern {
  /** `*`: every method. */
  readonly method: string;
  /** Undefined for `*`: any segment that is not empty. */
  readonly segments: readonly (string | undefined)[];
  /** Whether it ends with `/**`: any rest, also none. */
  readonly hasRest: boolean;
  /** The characters besides wildcards: the more, the more specific. An exact path precedes every pattern. */
  readonly literals: number;
}

/** A method in capitals, RFC 9110 §9.1, a space and a path. */
const form = /^(?<method>\*|[A-Z]+(?:-[A-Z]+)*) (?<path>\/.*)$/su;

/** What keeps a text from being a request, `GET /orders`, or with `*` a pattern of requests. Undefined for none. */
export function requestFlaw(text: string, allows: 'patterns' | 'requests'): string | undefined {
  const { method, path } = form.exec(text)?.groups ?? {};
  if (method === undefined || path === undefined || (method === '*' && allows === 'requests')) {
    const methods = allows === 'patterns' ? 'in capitals or *' : 'in capitals';
    return `is not a method ${methods}, one space, and a path that begins with /, such as GET /orders`;
  }
  if (/[?#]/.test(path)) return 'has a query or a fragment; policies decide on the path alone';
  if (/[{}]/.test(path)) return 'has braces, which no path has; write * for any segment';
  const flaw = pathFlaw(path);
  if (flaw !== undefined) return `has a path that no request can have: ${flaw}`;
  if (allows === 'requests') return undefined;
  // CONNECT opens a tunnel and TRACE echoes the client's headers: the gateway forwards neither.
  if (method === 'CONNECT' || method === 'TRACE') return 'is never forwarded';
  const segments = path.replace(/\/\*\*$/, '').split('/');
  if (segments.includes('**')) return 'has ** before the end; it stands for a rest, and * for one segment';
  if (segments.some((segment) => segment.includes('*') && segment !== '*')) {
    return 'has a * inside a segment; write * for a whole segment, or %2A for the character';
  }
  return undefined;
}

/** Compiles a name in which {@link requestFlaw} finds no flaw. */
export function requestPattern(name: string): RequestPattern {
  const [method, path] = partsOf(name);
  const bare = path.replace(/\/\*\*$/, '');
  return {
    method,
    segments: segmentsOf(bare).map((segment) => (segment === '*' ? undefined : segment)),
    hasRest: bare !== path,
    literals: isExact(path) ? Number.POSITIVE_INFINITY : bare.replaceAll('*', '').length,
  };
}

function isExact(path: string): boolean {
  return !path.includes('*');
}

/** The method and the path of a name. */
export function partsOf(name: string): readonly [method: string, path: string] {
  const space = name.indexOf(' ');
  return [name.slice(0, space), name.slice(space + 1)];
}

/** The segments of a path, at most `limit` of them. */
export function segmentsOf(path: string, limit?: number): readonly string[] {
  return path.split('/', limit === undefined ? undefined : limit + 1).slice(1);
}

/** How closely a pattern names a method; 0: not at all. RFC 9110 §9.3.2: HEAD is GET without a body. */
export function rankOf(entry: RequestPattern, method: string): number {
  if (entry.method === method) return 3;
  if (entry.method === 'GET' && method === 'HEAD') return 2;
  return entry.method === '*' ? 1 : 0;
}

/** Whether two patterns cover one path. */
export function haveCommonPath(one: RequestPattern, other: RequestPattern): boolean {
  const shared = Math.min(one.segments.length, other.segments.length);
  for (let index = 0; index < shared; index += 1) {
    const [own, their] = [one.segments[index], other.segments[index]];
    if (!(their === undefined ? own !== '' : covers(own, their))) return false;
  }
  const [shorter, longer] = one.segments.length <= other.segments.length ? [one, other] : [other, one];
  return shorter.hasRest || longer.segments.length === shared;
}

/**
 * A request for each combination of patterns that can cover one, as it is written and as a lenient server reads it.
 *
 * @param mentions Texts besides the patterns. Where a request may have any method or segment, it has none of these.
 */
export function distinguishedRequests(names: readonly string[], mentions: readonly string[]): readonly string[] {
  const written = names.map(requestPattern);
  const patterns = [...written, ...written.map(plainPattern)];
  const arePlain = written.every((pattern) => nameOf(plainPattern(pattern)) === nameOf(pattern));
  const depth = 2 + Math.max(0, ...patterns.map(({ segments }) => segments.length));
  const mentioned = new Set([...names, ...mentions].flatMap((text) => text.match(/[^\s/]+/g) ?? []));
  const fresh = ['x', 'y', 'z', ...Array.from(mentioned, (_, index) => `x${index}`)].find(
    (each) => !mentioned.has(each),
  );
  const segments = [fresh ?? 'x', ...(arePlain ? [] : [vanishing])];

  const paths = ['/'];
  const visited = new Set<string>();
  const visit = (path: string, at: number, live: readonly RequestPattern[]): void => {
    const key = `${at} ${path.includes(vanishing)} ${live.map((each) => patterns.indexOf(each)).join(' ')}`;
    if (visited.has(key)) return;
    visited.add(key);
    if (at > 0) paths.push(path, `${path}/`);
    if (at === depth) return;
    const literals = live.flatMap((pattern) => pattern.segments[at] ?? []);
    for (const segment of new Set([...segments, ...literals])) {
      if (segment === '' || (segment === vanishing && path.includes(vanishing))) continue;
      const next = live.filter((each) =>
        at < each.segments.length ? covers(each.segments[at], segment) : each.hasRest,
      );
      visit(`${path}/${segment}`, at + 1, next);
    }
  };
  visit('', 0, patterns);

  const methods = [...names, ...mentions].flatMap((text) => text.match(/[A-Z]+(?:-[A-Z]+)*/g) ?? []);
  const other = ['PUT', 'PATCH', 'X', ...methods.map((_, index) => 'X'.repeat(index + 2))];
  const chosen = new Set(['GET', ...methods, 'HEAD', other.find((each) => !methods.includes(each)) ?? 'X']);
  return [...chosen].flatMap((method) => paths.map((path) => `${method} ${path}`));
}

/** A segment that is empty for a lenient server. */
const vanishing = '...';

/** Whether two patterns, or a pattern and a request, cover one request. */
export function haveCommonRequest(one: string, other: string): boolean {
  const [own, their] = [requestPattern(one), requestPattern(other)];
  const methods = new Set([own.method, their.method]);
  const haveMethod = methods.size === 1 || methods.has('*') || (methods.has('GET') && methods.has('HEAD'));
  return haveMethod && haveCommonPath(own, their);
}

/**
 * Whether one of some patterns covers a request, as it is written.
 *
 * @param reading `plain`: as a lenient server reads the patterns and the request.
 */
export function requestsCoveredBy(
  patterns: readonly string[],
  reading: 'written' | 'plain',
): (name: string) => boolean {
  const isPlain = reading === 'plain';
  const compiled = patterns.map(requestPattern).map((pattern) => (isPlain ? plainPattern(pattern) : pattern));
  return (name) => {
    const [method, path] = partsOf(name);
    const segments = isPlain ? plainSegments(path) : segmentsOf(path);
    const request = { method, segments, hasRest: false, literals: 0 };
    return compiled.some((pattern) => rankOf(pattern, method) > 0 && haveCommonPath(pattern, request));
  };
}

/**
 * Whether a request that a pattern covers belongs to one of some routes. Each request belongs to the route with the
 * longest path that it begins with, in whole segments.
 *
 * @param own The paths of the routes.
 * @param others The paths of all other routes.
 */
export function isServedBelow(name: string, own: readonly string[], others: readonly string[]): boolean {
  const { segments, hasRest } = requestPattern(name);
  const otherRoutes = others.map(routeSegments);
  return own.map(routeSegments).some((route) => {
    if (route.length > segments.length && !hasRest) return false;
    if (!route.every((segment, index) => index >= segments.length || covers(segments[index], segment))) return false;
    // What is left of the pattern at this route. Another segment for each `*` evades every longer route.
    const below = [...route, ...segments.slice(route.length)];
    return !otherRoutes.some(
      (other) => other.length > route.length && other.every((segment, index) => segment === below[index]),
    );
  });
}

function routeSegments(path: string): readonly string[] {
  return path === '/' ? [] : segmentsOf(path);
}

/** Whether a segment of a pattern covers that of a path. */
function covers(own: string | undefined, segment: string): boolean {
  return own === undefined ? segment !== '' : own === segment;
}

/** What a lenient server reads in another way: capitals, encoded characters, a dot or a slash at an end. */
export const oddPath = /[A-Z%]|\.(?:\/|$)|.\/$/;

/** The segments of a path as a lenient server reads it. */
export function plainSegments(path: string): readonly string[] {
  return withoutInvisible(decoded(path))
    .split(/[/\\]/)
    .map((segment) => segment.replace(/(?<![\s.])[\s.]+$/u, ''))
    .filter((segment) => segment !== '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export function plainPattern(pattern: RequestPattern): RequestPattern {
  const segments = pattern.segments.flatMap((segment) => (segment === undefined ? segment : plainSegments(segment)));
  return { ...pattern, segments };
}

/** A pattern as text: no two of them are equal. */
export function nameOf({ method, segments, hasRest }: RequestPattern): string {
  return JSON.stringify([method, segments, hasRest]);
}

/** A request as a lenient server reads it. */
export function plainRequest(name: string): string {
  const [method, path] = partsOf(name);
  return oddPath.test(path) ? `${method} /${plainSegments(path).join('/')}` : name;
}
