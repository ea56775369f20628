import { rulePath } from '../policy-error.ts';
import { type ConditionContext, type LeafCondition, leafCondition, neededScopes } from './condition.ts';

/**
 * `scope`: the caller has every scope.
 *
 * Its denial lists all scopes that the operation needs, not only what is missing (RFC 6750 §3: "the required scope of
 * the access token"): a client requests exactly these, and would lose the scopes it had. Equal for equal callers,
 * because MCP clients compare challenges to detect a loop.
 */
export function compileScope(
  written: string | readonly string[],
  { path }: Pick<ConditionContext, 'path'>,
): readonly LeafCondition[] {
  const scopes = scopeTokens(written);
  const condition = leafCondition({
    kind: 'scope',
    rule: rulePath(path),
    reason: 'scope.insufficient',
    unmet: 'scope',
    reads: { scopes },
    judge(principal) {
      for (const scope of scopes) if (!principal.scopes.has(scope)) return 'scope';
      return 'met';
    },
    words: (principal) => ({
      wanted: `scope "${scopes.join(' ')}"`,
      found: principal.scopes.size === 0 ? 'no scope' : `"${[...principal.scopes].join(' ')}"`,
    }),
    denialWords(principal, applied) {
      const scope = neededScopes(applied, principal);
      const missing = scope.filter((token) => !principal.scopes.has(token));
      return { detail: `wanted scope "${scope.join(' ')}", missing "${missing.join(' ')}"`, scope };
    },
  });
  return [condition];
}

/** A policy's `scope` as a list without duplicates, in the order in which it is written. */
export function scopeTokens(scope: string | readonly string[]): readonly string[] {
  return Object.freeze([...new Set(typeof scope === 'string' ? scope.split(' ') : scope)]);
}
