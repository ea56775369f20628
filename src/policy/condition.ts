import { durationMs } from '../lib/quantity.ts';
import type { ConditionDocument, ValueDocument } from './document.ts';
import { type MemberReader, claimReader } from '../lib/json/pointer.ts';
import { type DocumentPath, type PolicyFault, rulePath } from './policy-error.ts';
import { type Predicate, compilePredicates } from './predicate.ts';
import { type Reading, underNot } from './reading.ts';
import { malformedPointer } from '../lib/json/describe-value.ts';

/** A compiled condition; `rule` is its path in the policy file. */
export type Condition =
  | { readonly kind: 'scope'; readonly rule: string; readonly scopes: readonly string[] }
  | ClaimCondition
  | { readonly kind: 'any'; readonly rule: string; readonly alternatives: readonly Condition[] }
  | AllCondition
  | { readonly kind: 'not'; readonly rule: string; readonly condition: Condition }
  | { readonly kind: 'lifetime'; readonly rule: string; readonly seconds: number };

/** Conditions that must all hold. */
export interface AllCondition {
  readonly kind: 'all';
  readonly rule: string;
  readonly conditions: readonly Condition[];
}

/** A condition on one claim. */
export interface ClaimCondition {
  readonly kind: 'claim';
  readonly rule: string;
  /** As written: a claim's name or a JSON Pointer. */
  readonly name: string;
  readonly read: MemberReader;
  readonly predicates: readonly Predicate[];
}

/** A condition that consists of no others. */
export type LeafCondition = Exclude<Condition, { readonly kind: 'all' | 'any' | 'not' }>;

/** The leaves of a condition, in the order of the policy. */
export function leavesOf(condition: Condition): readonly LeafCondition[] {
  switch (condition.kind) {
    case 'all':
      return condition.conditions.flatMap(leavesOf);
    case 'any':
      return condition.alternatives.flatMap(leavesOf);
    case 'not':
      return leavesOf(condition.condition);
    case 'scope':
    case 'claim':
    case 'lifetime':
      return [condition];
  }
}

/** What surrounds a condition. */
interface Context {
  /** Where it stands. */
  readonly path: DocumentPath;
  /** Collects what cannot be compiled. */
  readonly faults: PolicyFault[];
  readonly reading: Reading;
}

/** What each key of a policy wants. */
type Wanted = Required<ConditionDocument>;

/** Every key that states a condition, in the order in which they are judged and refusals reported. */
const keys: {
  readonly [Key in keyof Wanted]: (wanted: Wanted[Key], context: Context) => readonly Condition[];
} = {
  scope: (scope, { path }) => [{ kind: 'scope', rule: rulePath(path), scopes: scopeTokens(scope) }],
  claims: (claims, context) => Object.entries(claims).map(([name, value]) => compileClaim(name, value, context)),
  any: (list, context) => [{ kind: 'any', rule: rulePath(context.path), alternatives: compileEach(list, context) }],
  all: (list, context) => [{ kind: 'all', rule: rulePath(context.path), conditions: compileEach(list, context) }],
  not(document, { path, faults, reading }) {
    const condition = compileCondition(document, path, faults, underNot(reading));
    return [{ kind: 'not', rule: rulePath(path), condition }];
  },
  max_lifetime: (text, { path }) => [{ kind: 'lifetime', rule: rulePath(path), seconds: durationSeconds(text) }],
};

const order = Object.keys(keys) as readonly (keyof Wanted)[];

/**
 * Compiles one policy, nested or not, into the conditions that must all hold. Their order is fixed, whatever the
 * file's, and so is the refusal that is reported if several apply. Appends to `faults` what cannot be compiled.
 *
 * @param reading How values of another type than expected are read.
 */
export function compileCondition(
  document: ConditionDocument,
  path: DocumentPath,
  faults: PolicyFault[],
  reading: Reading = 'direct',
): AllCondition {
  const conditions = order.flatMap((key) => compileKey(key, document[key], { path: [...path, key], faults, reading }));
  return { kind: 'all', rule: rulePath(path), conditions };
}

function compileKey<Key extends keyof Wanted>(
  key: Key,
  wanted: Wanted[Key] | undefined,
  context: Context,
): readonly Condition[] {
  return wanted === undefined ? [] : keys[key](wanted, context);
}

function compileClaim(name: string, value: ValueDocument, { path, faults, reading }: Context): ClaimCondition {
  const at = [...path, name];
  const read = claimReader(name);
  if (read === undefined) faults.push({ path: at, message: malformedPointer(name) });
  const predicates = compilePredicates(value, at, faults, reading);
  return { kind: 'claim', rule: rulePath(at), name, read: read ?? (() => undefined), predicates };
}

function compileEach(
  documents: readonly ConditionDocument[],
  { path, faults, reading }: Context,
): readonly AllCondition[] {
  return documents.map((each, index) => compileCondition(each, [...path, index], faults, reading));
}

/** A policy's `scope` as a list without duplicates, in the order in which it is written. */
export function scopeTokens(scope: string | readonly string[]): readonly string[] {
  return Object.freeze([...new Set(typeof scope === 'string' ? scope.split(' ') : scope)]);
}

/** A duration that the schema's pattern accepted. For any other text, no lifetime is short enough. */
export function durationSeconds(duration: string): number {
  return (durationMs(duration) ?? Number.NaN) / 1000;
}
