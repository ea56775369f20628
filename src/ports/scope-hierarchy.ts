/**
 * Each broader scope with every scope that it implies, directly or through others, without itself. Scopes that imply
 * each other in a circle are equivalent, which is not an error.
 */
export function closeHierarchy(
  scopes: Readonly<Record<string, readonly string[]>>,
): ReadonlyMap<string, readonly string[]> {
  const direct = new Map(Object.entries(scopes));
  return new Map([...direct.keys()].map((scope) => [scope, impliedBy(scope, direct)]));
}

function impliedBy(scope: string, direct: ReadonlyMap<string, readonly string[]>): readonly string[] {
  // A Set is walked in the order of insertion, additions during the walk included.
  const reached = new Set([scope]);
  for (const broader of reached) {
    for (const narrower of direct.get(broader) ?? []) reached.add(narrower);
  }
  reached.delete(scope);
  return [...reached];
}

/** Granted scopes and all scopes that they imply by a closed hierarchy, for `Principal.scopes`. */
export function expandScopes(
  granted: readonly string[],
  hierarchy: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const expanded = new Set(granted);
  for (const scope of granted) {
    for (const implied of hierarchy.get(scope) ?? []) expanded.add(implied);
  }
  return expanded;
}
