import { kindOf, malformedPointer } from '../lib/json/describe-value.ts';
import { type PointerReader, strictPointerReader } from '../lib/json/pointer.ts';
import type { PolicyDenial } from '../model/denial.ts';
import { type Attempt, argumentsOf, unknownArguments } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { type DocumentPath, type EntryContext, type PolicyFault, rulePath, type ValueDocument } from './document.ts';
import { type Predicate, type Reading, compilePredicates, showUnusable, wantedBy } from './predicate.ts';

/** An argument of a call. */
export interface CallArgument {
  /** As written: a JSON Pointer into `params.arguments`. */
  readonly pointer: string;
  readonly read: PointerReader;
}

/** A condition on one argument of a call. */
export interface ArgumentCondition extends CallArgument {
  readonly rule: string;
  readonly predicates: readonly Predicate[];
}

/** Compiles a pointer to an argument of the calls of an entry. */
export function compileArgument(pointer: string, path: DocumentPath, entry: EntryContext): CallArgument {
  const argument = compilePointer(pointer, path, entry.faults);
  requireArguments(path, entry);
  return argument;
}

/** Reports a part of an entry that speaks of arguments, if its calls have none. */
export function requireArguments(path: DocumentPath, { key, faults }: EntryContext): void {
  if (key === 'tools' || key === 'prompts') return;
  faults.push({ path, message: `${key} have no arguments; only tools and prompts do` });
}

function compilePointer(pointer: string, path: DocumentPath, faults: PolicyFault[]): CallArgument {
  const read = strictPointerReader(pointer);
  if (read === undefined) faults.push({ path, message: malformedPointer(pointer) });
  return { pointer, read: read ?? (() => undefined) };
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
    const { read } = compilePointer(pointer, at, faults);
    return { rule: rulePath(at), pointer, read, predicates: compilePredicates(value, at, faults, reading) };
  });
}

/**
 * The denial of a call whose arguments do not meet a condition. It never has a challenge, because another token would
 * not change the arguments. Unknown arguments meet every condition.
 *
 * @throws whatever a predicate throws.
 */
export function argumentDenial(
  condition: ArgumentCondition,
  principal: Principal,
  call: Attempt,
): PolicyDenial | undefined {
  const args = argumentsOf(call);
  if (args === unknownArguments) return undefined;
  const failed = failedPredicate(condition, principal, call, args);
  if (failed === undefined) return undefined;
  const { rule, pointer, read } = condition;
  const wanted = wantedBy([failed], { caller: principal, show: showUnusable });
  const detail = `argument ${pointer}: wanted ${wanted}, found ${kindOf(read(args))}`;
  return { reason: 'argument.denied', rule, detail, scope: [] };
}

/**
 * The first predicate of a condition that the arguments of a call do not meet.
 *
 * @throws whatever a predicate throws.
 */
export function failedPredicate(
  { read, predicates }: Pick<ArgumentCondition, 'read' | 'predicates'>,
  principal: Principal,
  call: Attempt,
  args: unknown,
): Predicate | undefined {
  const value = read(args);
  const reader = call.kind === 'mcp' ? call.exactArguments : undefined;
  const exact = reader === undefined ? value : read(reader());
  for (const predicate of predicates) if (!predicate.test(value, principal, exact)) return predicate;
  return undefined;
}
