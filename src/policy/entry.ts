import type { Decision } from '../model/policy.ts';
import { type ArgumentCondition, compileArguments } from './argument.ts';
import { type AllCondition, compileCondition } from './condition.ts';
import type { EntryDocument } from './document.ts';
import { type PolicyFault, rulePath } from './policy-error.ts';

/** The keys of a policy that say what may be called. */
export type ListingKey = 'tools' | 'resources' | 'prompts' | 'methods';

/** What a policy lists under one name or pattern. */
export interface Entry {
  readonly key: ListingKey;
  /** As written: a name, or a pattern. */
  readonly name: string;
  /** Path in the policy file. */
  readonly rule: string;
  /** What it asks on top of the policy's own conditions. */
  readonly condition: AllCondition;
  readonly arguments: readonly ArgumentCondition[];
  /** The answer to a call that it allows, made once. */
  readonly allowed: Decision;
}

/** Finds the one entry that a name falls under, if any. */
export type FindEntry = (name: string) => Entry | undefined;

/** Compiles what one key lists. Appends to `faults` what cannot be compiled. */
export function compileEntries(
  key: ListingKey,
  documents: Readonly<Record<string, EntryDocument>>,
  faults: PolicyFault[],
): readonly Entry[] {
  return Object.entries(documents).map(([name, document]) => {
    const path = [key, name];
    const rule = rulePath(path);
    return {
      key,
      name,
      rule,
      condition: compileCondition(document, path, faults),
      arguments: compileArguments(document.arguments ?? {}, path, faults),
      allowed: Object.freeze({ allow: true, rule }),
    };
  });
}
