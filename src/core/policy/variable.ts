import { describeValue } from '../lib/json/describe-value.ts';
import { percentDecoded } from '../lib/http/path-flaw.ts';
import type { PolicyDenial } from '../model/denial.ts';
import type { ListingKey } from '../model/mcp-method.ts';
import type { Attempt } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import { type DocumentPath, type PolicyFault, rulePath, type ValueDocument } from './document.ts';
import { uriVariable, variablesIn } from './pattern.ts';
import { type Predicate, type Reading, compilePredicates, showUnusable, wantedBy } from './predicate.ts';
import { requestVariable } from './requests.ts';

/** A condition on a variable in the key of a resource or a request. */
export interface VariableCondition {
  readonly rule: string;
  readonly name: string;
  readonly key: 'resources' | 'requests';
  /** The key that has the variable. */
  readonly entry: string;
  readonly predicates: readonly Predicate[];
  /** The texts that the variable stands for in a URI or a request that the key covers; several if it can be read so. */
  readonly textsIn: (target: string) => readonly string[];
}

/** What has the variables: a key of a policy, and where the conditions on them stand. */
interface VariableContext {
  readonly key: ListingKey;
  readonly entry: string;
  /** Of the entry or the property that has `variables`. */
  readonly path: DocumentPath;
  readonly faults: PolicyFault[];
}

/** Compiles `variables` of an entry or a property. Appends to `faults` what cannot be compiled. */
export function compileVariables(
  documents: Readonly<Record<string, ValueDocument>> | undefined,
  { key, entry, path, faults }: VariableContext,
  reading: Reading = 'direct',
): readonly VariableCondition[] {
  if (documents === undefined) return [];
  if (key !== 'resources' && key !== 'requests') {
    const message = `${key} have no variables; only resources and requests do`;
    faults.push({ path: [...path, 'variables'], message });
    return [];
  }
  const names = variablesIn(entry);
  return Object.entries(documents).map(([name, value]) => {
    const at = [...path, 'variables', name];
    if (!names.includes(name)) {
      const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
      faults.push({ path: at, message: `${describeValue(entry)} has no variable {${name}}; ${known}` });
    }
    return {
      rule: rulePath(at),
      name,
      key,
      entry,
      predicates: compilePredicates(value, at, faults, reading),
      textsIn: key === 'requests' ? requestVariable(entry, name) : uriVariable(entry, name),
    };
  });
}

/**
 * The value of a variable: its text, percent-decoded once. Undefined for one that a server may read as more than one
 * segment, or in another way: it meets no condition.
 */
export function variableValue(text: string): string | undefined {
  const value = text.includes('%') ? percentDecoded(text) : text;
  return value === undefined || /[/\\\p{Cc}]/u.test(value) ? undefined : value;
}

/** The URI or the request whose variables a condition reads: that of the entry at a place among those of the call. */
export function targetAt(call: Attempt, at: number): string | undefined {
  return call.kind === 'http' ? call.request : call.targets[at]?.name;
}

/**
 * Whether a variable meets its condition, in each way in which the target can be read.
 *
 * @throws whatever a predicate throws.
 */
export function isVariableMet(
  { predicates, textsIn }: VariableCondition,
  principal: Principal,
  target: string | undefined,
): boolean {
  const texts = target === undefined ? [] : textsIn(target);
  if (texts.length === 0) return false;
  for (const text of texts) {
    const value = variableValue(text);
    if (value === undefined) return false;
    for (const { test } of predicates) if (!test(value, principal)) return false;
  }
  return true;
}

/**
 * The denial of a call whose target has a variable that does not meet a condition. It never has a challenge, because
 * another token for the same caller would not change the target.
 *
 * @throws whatever a predicate throws.
 */
export function variableDenial(
  condition: VariableCondition,
  principal: Principal,
  target: string | undefined,
): PolicyDenial | undefined {
  if (isVariableMet(condition, principal, target)) return undefined;
  const { rule, name, predicates } = condition;
  const wanted = wantedBy(predicates, { caller: principal, show: showUnusable });
  return {
    reason: 'variable.denied',
    rule,
    detail: `variable ${name}: wanted ${wanted}, found another text`,
    scope: [],
  };
}
