import type { ListingKey } from '../model/mcp.ts';
import type { Decision, McpAttempt } from '../model/policy.ts';
import type { PolicyDenial } from '../model/denial.ts';
import { type PointerReader, strictPointerReader } from '../lib/json/pointer.ts';
import type { AllCondition } from './conditions/all.ts';
import { compileCondition } from './conditions/compile-condition.ts';
import { kindOf, malformedPointer } from '../lib/json/describe-value.ts';
import type { EntryDocument, PolicyDocument, ValueDocument } from './document.ts';
import { type HistoryRule, compileHistory } from './history-rules.ts';
import { type DocumentPath, type PolicyFault, rulePath } from './policy-error.ts';
import { type Predicate, type Reading, compilePredicates } from './predicate.ts';

/** One name or pattern that a policy lists. */
export interface Entry {
  readonly key: ListingKey;
  /** As written: a name, or a pattern. */
  readonly name: string;
  /** Path in the policy file. */
  readonly rule: string;
  /** Its conditions, in addition to the policy's own. */
  readonly condition: AllCondition;
  readonly arguments: readonly ArgumentCondition[];
  /** Its rules over time. */
  readonly history: readonly HistoryRule[];
  /** The answer to a call that it allows, made once. */
  readonly allowed: Decision;
  /** The operator's words for a caller that it refuses: its own, or else the policy's. */
  readonly because: string | undefined;
}

/** Finds the one entry that covers a name, if any. */
export type FindEntry = (name: string) => Entry | undefined;

/** Compiles what one key of a policy lists. Appends to `faults` what cannot be compiled. */
export function compileEntries(key: ListingKey, policy: PolicyDocument, faults: PolicyFault[]): readonly Entry[] {
  return Object.entries<EntryDocument>(policy[key] ?? {}).map(([name, document]) => {
    const path = [key, name];
    const rule = rulePath(path);
    const because = document.because ?? policy.because;
    return {
      key,
      name,
      rule,
      condition: compileCondition(document, path, faults),
      arguments: compileArguments(document.arguments ?? {}, path, faults),
      history: compileHistory(document, { key, name, path, because, faults }),
      allowed: Object.freeze({ allow: true, rule }),
      because,
    };
  });
}

/** A condition on one argument of a call. */
export interface ArgumentCondition {
  readonly rule: string;
  /** As written: a JSON Pointer into `params.arguments`. */
  readonly pointer: string;
  readonly read: PointerReader;
  readonly predicates: readonly Predicate[];
}

/** Compiles `arguments` of the entry or property at `path`. Appends to `faults` what cannot be compiled. */
export function compileArguments(
  documents: Readonly<Record<string, ValueDocument>>,
  path: DocumentPath,
  faults: PolicyFault[],
  reading: Reading = 'direct',
): readonly ArgumentCondition[] {
  return Object.entries(documents).map(([pointer, value]) => {
    const at = [...path, 'arguments', pointer];
    const read = strictPointerReader(pointer);
    if (read === undefined) faults.push({ path: at, message: malformedPointer(pointer) });
    const predicates = compilePredicates(value, at, faults, reading);
    return { rule: rulePath(at), pointer, read: read ?? (() => undefined), predicates };
  });
}

/** Whether a message has arguments to decide on: those of a completion are its own, not those of what it completes. */
export function takesArguments({ method }: McpAttempt): boolean {
  return method.allowedBy !== 'reference';
}

/**
 * The denial of a call by the first condition on its arguments that is not met. It never has a challenge, because
 * another token would not change the arguments.
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
