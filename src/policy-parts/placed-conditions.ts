import type { AddressedDocument, DocumentPath, EntryDocument } from '../core/policy/document.ts';

/** A condition of a policy, and its place. Only an entry has arguments and variables. */
export interface PlacedCondition {
  readonly path: DocumentPath;
  readonly condition: AnyEntryDocument;
}

/** A condition, or an entry of any kind. */
export type AnyEntryDocument = EntryDocument & AddressedDocument;

/** The conditions under the keys that parts of the language add to an entry. */
export type ConditionsInParts = (entry: AnyEntryDocument, path: DocumentPath) => readonly PlacedCondition[];

/** A condition, and those nested in it. */
export function withNested(condition: AnyEntryDocument, path: DocumentPath): readonly PlacedCondition[] {
  const { any = [], all = [], not } = condition;
  return [
    { path, condition },
    ...any.flatMap((each, index) => withNested(each, [...path, 'any', index])),
    ...all.flatMap((each, index) => withNested(each, [...path, 'all', index])),
    ...(not === undefined ? [] : withNested(not, [...path, 'not'])),
  ];
}
