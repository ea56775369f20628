import type { ConditionDocument } from './document.ts';
import { type MemberReader, claimReader } from '../json/pointer.ts';
import { type DocumentPath, type PolicyFault, rulePath } from './policy-error.ts';
import { type Predicate, compilePredicates } from './predicate.ts';
import { malformedPointer } from './describe-value.ts';

/** A compiled rule and what it consists of; `rule` is its path in the policy file. */
export type Condition =
  | { readonly kind: 'scope'; readonly rule: string; readonly scopes: readonly string[] }
  | ClaimCondition
  | { readonly kind: 'any'; readonly rule: string; readonly alternatives: readonly Condition[] }
  | AllCondition
  | { readonly kind: 'not'; readonly rule: string; readonly condition: Condition }
  | { readonly kind: 'lifetime'; readonly rule: string; readonly seconds: number };

/** What must hold whole. */
export interface AllCondition {
  readonly kind: 'all';
  readonly rule: string;
  readonly conditions: readonly Condition[];
}

/** What is asked of one claim. */
export interface ClaimCondition {
  readonly kind: 'claim';
  readonly rule: string;
  /** As written: a claim's name or a JSON Pointer. */
  readonly name: string;
  readonly read: MemberReader;
  readonly predicates: readonly Predicate[];
}

/**
 * Compiles one policy, nested or not, into the conditions that must all hold. Their order is fixed, whatever the file's,
 * and with it which of several refusals is told. Appends to `faults` what cannot be compiled.
 *
 * @param negated Whether it stands under an odd number of `not`: a value of the wrong type then counts as excluded.
 */
export function compileCondition(
  document: ConditionDocument,
  path: DocumentPath,
  faults: PolicyFault[],
  negated = false,
): AllCondition {
  const conditions: Condition[] = [];
  const nested = (list: readonly ConditionDocument[], name: string): readonly Condition[] =>
    list.map((each, index) => compileCondition(each, [...path, name, index], faults, negated));
  const rule = (name: string): string => rulePath([...path, name]);

  if (document.scope !== undefined) {
    conditions.push({ kind: 'scope', rule: rule('scope'), scopes: scopeTokens(document.scope) });
  }
  for (const [name, value] of Object.entries(document.claims ?? {})) {
    const at = [...path, 'claims', name];
    const read = claimReader(name);
    if (read === undefined) faults.push({ path: at, message: malformedPointer(name) });
    const predicates = compilePredicates(value, at, faults, negated);
    conditions.push({ kind: 'claim', rule: rulePath(at), name, read: read ?? (() => undefined), predicates });
  }
  if (document.any !== undefined) {
    conditions.push({ kind: 'any', rule: rule('any'), alternatives: nested(document.any, 'any') });
  }
  if (document.all !== undefined) {
    conditions.push({ kind: 'all', rule: rule('all'), conditions: nested(document.all, 'all') });
  }
  if (document.not !== undefined) {
    const condition = compileCondition(document.not, [...path, 'not'], faults, !negated);
    conditions.push({ kind: 'not', rule: rule('not'), condition });
  }
  if (document.max_lifetime !== undefined) {
    conditions.push({ kind: 'lifetime', rule: rule('max_lifetime'), seconds: durationSeconds(document.max_lifetime) });
  }
  return { kind: 'all', rule: rulePath(path), conditions };
}

/** A policy's `scope` as a list without duplicates, in the order in which it is written. */
export function scopeTokens(scope: string | readonly string[]): readonly string[] {
  return Object.freeze([...new Set(typeof scope === 'string' ? scope.split(' ') : scope)]);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A duration that the schema's pattern accepted. */
export function durationSeconds(duration: string): number {
  const unit = duration.replace(/[0-9]+/, '');
  return (Number.parseInt(duration, 10) * (unitMs[unit] ?? Number.NaN)) / 1000;
}
