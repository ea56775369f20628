import type { ListingKey, McpMethod } from '../model/mcp-method.ts';
import { type ArgumentCondition, compileArguments } from './argument.ts';
import type { AllCondition } from './conditions/groups.ts';
import { compileCondition, conditionKeys } from './conditions/compile-condition.ts';
import {
  type AddressedDocument,
  type EntryContext,
  type EntryDocument,
  type PolicyDocument,
  type PolicyFault,
  rulePath,
} from './document.ts';
import type { EntryCompiler, EntryPart, EntryParts } from './entry-part.ts';
import { type VariableCondition, compileVariables } from './variable.ts';

/** A name or pattern that a policy lists. */
export interface Entry {
  readonly key: ListingKey;
  /** As written: a name, or a pattern. */
  readonly name: string;
  /** Path in the policy file. */
  readonly rule: string;
  /** Its conditions, in addition to the policy's own. */
  readonly condition: AllCondition;
  readonly arguments: readonly ArgumentCondition[];
  /** Conditions on the variables of its name. */
  readonly variables: readonly VariableCondition[];
  readonly parts: EntryParts;
  /** The operator's words for a caller that it refuses: its own, or else the policy's. */
  readonly because: string | undefined;
}

/** Finds the one entry that covers a name, if any. */
export type FindEntry = (name: string) => Entry | undefined;

/** Compiles what one key of a policy lists. Appends to `faults` what cannot be compiled. */
export function compileEntries(
  key: ListingKey,
  policy: PolicyDocument,
  compilers: readonly EntryCompiler[],
  faults: PolicyFault[],
): readonly Entry[] {
  return Object.entries<EntryDocument & AddressedDocument>(policy[key] ?? {}).map(([name, document]) => {
    const path = [key, name];
    const rule = rulePath(path);
    const because = document.because ?? policy.because;
    const context = { key, name, path, because, faults };
    return {
      key,
      name,
      rule,
      condition: compileCondition(document, path, faults),
      arguments: compileArguments(document.arguments ?? {}, path, faults),
      variables: compileVariables(document.variables, { key, entry: name, path, faults }),
      parts: compileParts(document, compilers, context),
      because,
    };
  });
}

const ownKeys: ReadonlySet<string> = new Set([...conditionKeys, 'arguments', 'variables', 'because']);

function compileParts(document: EntryDocument, compilers: readonly EntryCompiler[], context: EntryContext): EntryParts {
  // A key that nothing puts into effect must not look as if it restricted calls.
  for (const key of Object.keys(document)) {
    if (ownKeys.has(key) || compilers.some(({ keys }) => keys.includes(key))) continue;
    context.faults.push({ path: [...context.path, key], message: 'no part of the gateway puts this key into effect' });
  }
  const compiled = compilers.flatMap((each): readonly (readonly [EntryCompiler['key'], EntryPart])[] => {
    const part = each.compile(document, context);
    return part === undefined ? [] : [[each.key, part]];
  });
  return new Map(compiled);
}

/** Whether a message has arguments to decide on: those of a completion are its own, not those of what it completes. */
export function takesArguments({ allowedBy }: McpMethod): boolean {
  return allowedBy !== 'reference';
}
