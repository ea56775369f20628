import type { Decision } from '../model/policy.ts';
import { type Condition, compileCondition } from './condition.ts';
import type { ConditionDocument } from './document.ts';
import { type NamePattern, namePattern } from './name-pattern.ts';
import { type PolicyFault, rulePath } from './policy-error.ts';

/** One entry of `tools`. */
interface ToolRule {
  /** As written: a name, or a pattern. */
  readonly name: string;
  /** Path in the policy file. */
  readonly rule: string;
  /** What it asks on top of the policy's own conditions. */
  readonly condition: Condition;
  /** The answer to a call that it allows, made once. */
  readonly allowed: Decision;
}

/** Finds the one rule for a tool: its exact name, else the most specific pattern, else none. */
export type ToolTable = (tool: string | undefined) => ToolRule | undefined;

/**
 * Compiles `tools`. An exact name beats a pattern; of patterns the one with more characters besides `*` wins, and of two
 * with equally many the first in code unit order, so that the order of the file never matters.
 */
export function compileTools(tools: Readonly<Record<string, ConditionDocument>>, faults: PolicyFault[]): ToolTable {
  const exact = new Map<string, ToolRule>();
  const patterns = new Map<string, NamePattern & { readonly tool: ToolRule }>();
  for (const [name, document] of Object.entries(tools)) {
    const path = ['tools', name];
    const rule = rulePath(path);
    const condition = compileCondition(document, path, faults);
    const tool: ToolRule = { name, rule, condition, allowed: Object.freeze({ allow: true, rule }) };
    if (!name.includes('*')) {
      exact.set(name, tool);
      continue;
    }
    const pattern = namePattern(name);
    const equal = patterns.get(pattern.canonical);
    if (equal !== undefined) {
      const message = `matches the same tools as ${JSON.stringify(equal.tool.name)}; only one of them can apply`;
      faults.push({ path, message });
    }
    patterns.set(pattern.canonical, { ...pattern, tool });
  }
  const sorted = [...patterns.values()].toSorted(
    (one, other) => other.literals - one.literals || (one.canonical < other.canonical ? -1 : 1),
  );
  return (tool) => {
    if (tool === undefined) return undefined;
    const found = exact.get(tool);
    if (found !== undefined) return found;
    for (const pattern of sorted) if (pattern.matches(tool)) return pattern.tool;
    return undefined;
  };
}
