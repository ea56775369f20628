import type { Route } from '../model/route.ts';

/**
 * The path and query for the upstream: the matched part is replaced, the rest and the query are kept byte for byte.
 */
export function createUpstreamPath(route: Route): (path: string, query: string) => string {
  const matched = route.path === '/' ? 0 : route.path.length;
  const { path: base } = route.upstream;
  return (path, query) => (base + path.slice(matched) || '/') + query;
}
