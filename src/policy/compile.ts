/**
 * @module The policy language, contract §3: a document is compiled once into conditions (`condition.ts`) that are judged
 * for every request (`verdict.ts`) and put into words only for a denial (`denial.ts`). Pure: no clock, no files, no YAML.
 */

import type { Policy } from '../model/policy.ts';
import { compileCondition, scopeTokens } from './condition.ts';
import { type Rules, decide, inShadow } from './decide.ts';
import type { PolicyDocument } from './document.ts';
import { PolicyError, type PolicyFault } from './policy-error.ts';
import { compileTools } from './tools.ts';

/**
 * A policy that decides, from a document that `schema/policy.schema.json` accepts.
 *
 * An allowed call names as its rule the entry of `tools` that allowed it (`tools.get_*`), or else `policy`.
 *
 * @param name The file's name without `.yaml`.
 * @throws {PolicyError} for everything at once that the schema cannot see: regular expressions and JSON Pointers that do
 * not parse, tool patterns that are equal, numbers that cannot be compared.
 */
export function compilePolicy(name: string, document: PolicyDocument): Policy {
  const faults: PolicyFault[] = [];
  const condition = compileCondition(document, [], faults);
  const tools = document.tools === undefined ? undefined : compileTools(document.tools, faults);
  if (faults.length > 0) throw new PolicyError(name, faults);

  const rules: Rules = { condition, tools };
  return {
    name,
    scope: document.scope === undefined ? [] : scopeTokens(document.scope),
    toolEntry: (tool) => tools?.(tool)?.name,
    decide:
      document.mode === 'shadow'
        ? (principal, attempt) => inShadow(decide(rules, principal, attempt))
        : (principal, attempt) => decide(rules, principal, attempt),
  };
}
