import { requestPattern } from '../core/policy/requests.ts';

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
    if (!route.every((segment, index) => (segments[index] ?? segment) === segment)) return false;
    // What is left of the pattern at this route. Another segment for each `*` evades every longer route.
    const below = [...route, ...segments.slice(route.length)];
    return !otherRoutes.some(
      (other) => other.length > route.length && other.every((segment, index) => segment === below[index]),
    );
  });
}

function routeSegments(path: string): readonly string[] {
  return path === '/' ? [] : path.split('/').slice(1);
}
