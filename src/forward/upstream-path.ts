import type { Route } from '../model/route.ts';

/**
 * The path and query for the upstream: the matched part is replaced. The rest and the query are kept byte for byte where
 * the route passes them; elsewhere no client can choose them, even if a guard before this one is missing.
 */
export function createUpstreamPath(route: Route): (path: string, query: string) => string {
  const matched = route.path === '/' ? 0 : route.path.length;
  const { path: base } = route.upstream;
  const rest = (path: string): string => (route.below === 'refuse' ? '' : path.slice(matched));
  return (path, query) => (base + rest(path) || '/') + (route.query === 'refuse' ? '' : query);
}
