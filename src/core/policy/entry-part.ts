/**
 * @module The parts of the language that capabilities put into effect: keys of entries, such as `quota`. The language
 * itself knows none of them by name.
 */

import type { MemberReader } from '../lib/json/pointer.ts';
import type { PartKey } from '../model/policy.ts';
import type { Condition } from './conditions/condition.ts';
import type { EntryContext, EntryDocument } from './document.ts';
import type { Predicate } from './predicate.ts';

interface NamedClaim {
  /** As written: a claim's name or a JSON Pointer. */
  readonly name: string;
  readonly read: MemberReader;
}

/** What the keys of a part name and read in one entry. */
export interface EntryPart {
  /** Paths of the rules that a decision can name. */
  readonly rules: readonly string[];
  /** The conditions on the caller. */
  readonly conditions: readonly Condition[];
  /** Whether its outcome depends on what a call asks for: then the call may say so in its arguments alone. */
  readonly bindsArguments: boolean;
  /** The expectations of arguments. */
  readonly values: readonly { readonly predicates: readonly Predicate[] }[];
  /** The claims of the caller that approvers are compared with. */
  readonly asks: readonly NamedClaim[];
  /** The claims by which calls are counted. */
  readonly owners: readonly NamedClaim[];
}

/** The parts of an entry, by their keys. */
export type EntryParts = ReadonlyMap<PartKey, EntryPart>;

/** The parts of an entry that has none. */
export const noParts: EntryParts = new Map();

/** Compiles the keys that a part has in entries. */
export interface EntryCompiler {
  readonly key: PartKey;
  /** Its keys of entries. */
  readonly keys: readonly string[];
  /** Appends to `context.faults` what cannot be compiled. @returns undefined if the entry has none of its keys. */
  compile(document: EntryDocument, context: EntryContext): EntryPart | undefined;
}
