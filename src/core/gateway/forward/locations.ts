import { isAtOrBelow, pathFlaw } from '../../lib/http/path-flaw.ts';
import type { Route } from '../../model/route.ts';

/**
 * Creates the rewriting of `Location` and `Content-Location` (RFC 9110 §10.2.2, §8.7) of an upstream. A value that
 * begins with the upstream's own URL, or that is a path at or below its path, by whole segments, becomes the route's
 * public address. All others pass as they are: a path at or below the route's own, other URLs, other spellings of the
 * upstream's, and paths that two parsers may read differently.
 */
export function createRewriteLocation(
  { path: routePath, upstream: { origin, path: base } }: Pick<Route, 'path' | 'upstream'>,
  publicUrl: string,
): (value: string) => string {
  const place = publicUrl + (routePath === '/' ? '' : routePath);
  return (value) => {
    const isAbsolute = value.startsWith(origin);
    const target = isAbsolute ? value.slice(origin.length) : value;
    const [path = ''] = target.split(/[?#]/, 1);
    const isRoot = isAbsolute && path === '';
    if (!isRoot && (!path.startsWith('/') || pathFlaw(path) !== undefined)) return value;
    if (!isAbsolute && (routePath === '/' || isAtOrBelow(path, routePath))) return value;
    const isBelow = base === '' || path === base || path.startsWith(`${base}/`);
    return isBelow ? place + target.slice(base.length) : value;
  };
}
