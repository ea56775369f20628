import { firstScopes, type Route } from '../../core/model/route.ts';

/**
 * The scopes that a later challenge of a route may name although its first one, in a 401, does not: what a client must
 * be able to step up to. The official MCP clients register with the scope of the first challenge (RFC 7591 §2). At an
 * authorization server that offers dynamic registration and never grants a client more than it registered with, these
 * scopes are out of reach, and its answer is `invalid_scope`. Its metadata do not say whether a server does so.
 */
export function stepUpScopes(route: Route): readonly string[] {
  const first = new Set(firstScopes(route));
  return (route.policy?.scopes ?? []).filter((scope) => !first.has(scope));
}
