/** @module Where the conditions of a policy document stand, for the checks of files. */

import type { DocumentPath, PolicyDocument, PredicateDocument, ValueDocument } from '../core/policy/document.ts';
import { conditionsInParts } from '../policy-parts/parts.ts';
import { type AnyEntryDocument, type PlacedCondition, withNested } from '../policy-parts/placed-conditions.ts';

interface MatchedPattern {
  readonly path: DocumentPath;
  readonly source: string;
}

/** Every `matches` of a policy, of claims, actors, arguments and variables, under any number of `not`. */
export function matchedPatterns(document: PolicyDocument): readonly MatchedPattern[] {
  return conditionsIn(document).flatMap(({ path, condition }) =>
    (['claims', 'actors', 'arguments', 'variables'] as const).flatMap((key) =>
      inValues({ ...condition[key] }, [...path, key]),
    ),
  );
}

/** Every condition of a policy: its own, those of its entries, and those nested in them. */
export function conditionsIn(document: PolicyDocument): readonly PlacedCondition[] {
  const found = [...withNested(document, [])];
  for (const key of ['tools', 'resources', 'prompts', 'methods', 'requests'] as const) {
    for (const [name, entry] of Object.entries<AnyEntryDocument>(document[key] ?? {})) {
      const path = [key, name];
      found.push(...withNested(entry, path), ...conditionsInParts(entry, path));
    }
  }
  return found;
}

function inValues(values: Readonly<Record<string, ValueDocument>>, path: DocumentPath): readonly MatchedPattern[] {
  return Object.entries(values).flatMap(([name, value]) => inValue(value, [...path, name]));
}

function inValue(value: ValueDocument, path: DocumentPath): readonly MatchedPattern[] {
  // Scalars and lists have neither.
  const { matches, not } = value as PredicateDocument;
  return [
    ...(matches === undefined ? [] : [{ path: [...path, 'matches'], source: matches }]),
    ...(not === undefined ? [] : inValue(not, [...path, 'not'])),
  ];
}
