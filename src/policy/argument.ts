import type { McpAttempt, PolicyDenial } from '../model/policy.ts';
import type { ValueDocument } from './document.ts';
import { type PointerReader, strictPointerReader, unreachable } from '../json/pointer.ts';
import { type DocumentPath, type PolicyFault, rulePath } from './policy-error.ts';
import { type Predicate, compilePredicates } from './predicate.ts';
import { malformedPointer, unreachableInWords } from './describe-value.ts';

/** What is asked of one argument of a call. */
export interface ArgumentCondition {
  readonly rule: string;
  /** As written: a JSON Pointer into `params.arguments`. */
  readonly pointer: string;
  readonly read: PointerReader;
  readonly predicates: readonly Predicate[];
}

/** Compiles `arguments` of the entry at `path`. Appends to `faults` what cannot be compiled. */
export function compileArguments(
  documents: Readonly<Record<string, ValueDocument>>,
  path: DocumentPath,
  faults: PolicyFault[],
): readonly ArgumentCondition[] {
  return Object.entries(documents).map(([pointer, value]) => {
    const at = [...path, 'arguments', pointer];
    const read = strictPointerReader(pointer);
    if (read === undefined) faults.push({ path: at, message: malformedPointer(pointer) });
    const predicates = compilePredicates(value, at, faults);
    return { rule: rulePath(at), pointer, read: read ?? (() => undefined), predicates };
  });
}

/** Whether a message has arguments to decide on: those of a completion are its own, not those of what it completes. */
export function takesArguments({ method }: McpAttempt): boolean {
  return method !== 'completion/complete';
}

/**
 * Why a call's arguments are refused, by the first condition that is not met. A challenge never goes with it: another
 * token would not change the arguments.
 *
 * @throws whatever a predicate throws.
 */
export function argumentDenial(conditions: readonly ArgumentCondition[], found: unknown): PolicyDenial | undefined {
  for (const { rule, pointer, read, predicates } of conditions) {
    const value = read(found);
    const failed = predicates.find(({ test }) => !test(value));
    if (failed === undefined) continue;
    const detail = `argument ${pointer}: wanted ${failed.wanted}, found ${kindOf(value)}`;
    return { reason: 'argument.denied', rule, detail, scope: [] };
  }
  return undefined;
}

/** Arguments are a part of the request's body, which the log never shows; of claims the value is told. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === unreachable) return unreachableInWords;
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `another ${typeof value}`;
}
