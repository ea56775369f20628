import type { ConditionDocument, EntryDocument, PolicyDocument, PredicateDocument, ValueDocument } from './document.ts';
import type { DocumentPath } from './policy-error.ts';

/** A regular expression of a policy, and where it stands. */
export interface MatchedPattern {
  readonly path: DocumentPath;
  readonly source: string;
}

/** Every `matches` of a policy, of claims and of arguments, under any number of `not`. */
export function matchedPatterns(document: PolicyDocument): readonly MatchedPattern[] {
  const found = [...inCondition(document, [])];
  for (const key of ['tools', 'resources', 'prompts', 'methods'] as const) {
    for (const [name, entry] of Object.entries<EntryDocument>(document[key] ?? {})) {
      found.push(...inCondition(entry, [key, name]), ...inValues(entry.arguments, [key, name, 'arguments']));
    }
  }
  return found;
}

function inCondition({ claims, any, all, not }: ConditionDocument, path: DocumentPath): readonly MatchedPattern[] {
  const nested = (list: readonly ConditionDocument[] = [], name: string): readonly MatchedPattern[] =>
    list.flatMap((each, index) => inCondition(each, [...path, name, index]));
  return [
    ...inValues(claims, [...path, 'claims']),
    ...nested(any, 'any'),
    ...nested(all, 'all'),
    ...(not === undefined ? [] : inCondition(not, [...path, 'not'])),
  ];
}

function inValues(values: Readonly<Record<string, ValueDocument>> = {}, path: DocumentPath): readonly MatchedPattern[] {
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
