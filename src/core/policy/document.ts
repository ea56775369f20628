/**
 * @module Policies as they are written, `docs/policies.md`. `npm run schemas` makes the types of
 * `schema/policy.schema.json`, which has the keys of parts too.
 */

import type {
  AddressedDocument,
  BoundDocument,
  EntryDocument,
  PolicyDocument,
  ValueDocument,
  ValueMapping,
} from '../../../schema/validators.js';
import { durationMs } from '../lib/quantity.ts';

export type {
  ActorsDocument,
  AddressedDocument,
  ConditionDocument,
  EntryDocument,
  PolicyDocument,
  ValueDocument,
} from '../../../schema/validators.js';
/** Predicates of one mapping; all of them must hold. */
export type PredicateDocument = ValueMapping;

/** Where in a document: member names and list indexes, from the top. */
export type DocumentPath = readonly (string | number)[];

/** A mistake in a policy document. */
export interface PolicyFault {
  readonly path: DocumentPath;
  /** What was found and what would be accepted. */
  readonly message: string;
}

/** A policy document that its schema accepts and that cannot be compiled all the same; carries every fault found. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
  readonly faults: readonly PolicyFault[];

  constructor(policy: string, faults: readonly PolicyFault[]) {
    super(`policy ${policy}: ${faults.map(({ path, message }) => `${rulePath(path)}: ${message}`).join('; ')}`);
    this.faults = faults;
  }
}

/**
 * A path as it is written in logs and messages: `tools.transfer_funds.claims.role`, `any[0].scope`. A member name that
 * would make it ambiguous, or break a log line, is quoted: `tools["user.get"].scope`.
 */
export function rulePath(path: DocumentPath): string {
  let written = '';
  for (const step of path) {
    if (typeof step === 'number') written += `[${step}]`;
    else if (!/^[^\s.[\]"\p{C}]+$/u.test(step)) written += `[${JSON.stringify(step)}]`;
    else written += written === '' ? step : `.${step}`;
  }
  return written;
}

/** Milliseconds of a duration that the schema's pattern accepted; NaN for any other text, which no time is within. */
export function millisecondsOf(duration: string): number {
  return durationMs(duration) ?? Number.NaN;
}

/** A claim value that can be compared as a whole. JSON null is not one: `present` covers it. */
export type Scalar = string | number | boolean;

/**
 * In place of a constant: a claim of the caller, by name or JSON Pointer. `caller`, in `by` of an approval: a claim of
 * the caller that asks for it, where `claim` is one of the approver.
 */
export type OperandDocument = Exclude<BoundDocument, number>;

/** The entry that keys of a part belong to. */
export interface EntryContext {
  readonly key: string;
  readonly name: string;
  readonly path: DocumentPath;
  /** The operator's words for a caller that it refuses. */
  readonly because: string | undefined;
  /** Collects what cannot be compiled. */
  readonly faults: PolicyFault[];
}

interface MatchedPattern {
  readonly path: DocumentPath;
  readonly source: string;
}

/** Every `matches` of a policy, of claims, actors, arguments and variables, under any number of `not`. */
export function matchedPatterns(document: PolicyDocument, inParts: ConditionsInParts): readonly MatchedPattern[] {
  return conditionsIn(document, inParts).flatMap(({ path, condition }) =>
    (['claims', 'actors', 'arguments', 'variables'] as const).flatMap((key) =>
      inValues(condition[key] && { ...condition[key] }, [...path, key]),
    ),
  );
}

/** A condition of a policy, and its place. Only an entry has arguments and variables. */
export interface PlacedCondition {
  readonly path: DocumentPath;
  readonly condition: AnyEntryDocument;
}

type AnyEntryDocument = EntryDocument & AddressedDocument;

/** The conditions under the keys that parts of the language add to an entry. */
export type ConditionsInParts = (entry: AnyEntryDocument, path: DocumentPath) => readonly PlacedCondition[];

/** Every condition of a policy: its own, those of its entries, and those nested in them. */
export function conditionsIn(document: PolicyDocument, inParts: ConditionsInParts): readonly PlacedCondition[] {
  const found = [...withNested(document, [])];
  for (const key of ['tools', 'resources', 'prompts', 'methods', 'requests'] as const) {
    for (const [name, entry] of Object.entries<AnyEntryDocument>(document[key] ?? {})) {
      const path = [key, name];
      found.push(...withNested(entry, path), ...inParts(entry, path));
    }
  }
  return found;
}

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
