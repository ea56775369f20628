import type { Attempt, Decision, PolicyDenial } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Condition } from './condition.ts';
import { policyDenial } from './denial.ts';
import { isHousekeeping } from './housekeeping.ts';
import { shown } from './shown.ts';
import type { ToolTable } from './tools.ts';
import { graver, judge } from './verdict.ts';

/** A policy document, compiled. */
export interface Rules {
  /** What every request on the route must meet. */
  readonly condition: Condition;
  /** Absent where the policy does not say what may be called: then anything may. */
  readonly tools: ToolTable | undefined;
}

/** The rule that is told when no entry of `tools` allowed the call, but the policy's own conditions did. */
const ownRule = 'policy';

const allowed: Decision = Object.freeze({ allow: true, rule: ownRule });

/**
 * Decides by rules that are enforced. Never throws: an error inside is a denial, because what was not decided must not
 * pass.
 */
export function decide(rules: Rules, principal: Principal, attempt: Attempt): Decision {
  try {
    return decideOrThrow(rules, principal, attempt);
  } catch (error) {
    const detail = error instanceof Error ? `${error.name}: ${error.message}` : `${shown(error)} was thrown`;
    return denied({ reason: 'policy.error', rule: ownRule, detail, scope: [] });
  }
}

/** Lets pass what would be denied, and says so; `mode: shadow`. */
export function inShadow(decision: Decision): Decision {
  return decision.allow ? decision : { allow: true, rule: decision.rule, shadow: decision.denial };
}

function decideOrThrow({ condition, tools }: Rules, principal: Principal, attempt: Attempt): Decision {
  const own = judge(condition, principal);
  // Refused callers learn nothing of which tools are listed.
  if (own === 'refused' || attempt.kind === 'http' || tools === undefined || isHousekeeping(attempt.method)) {
    return own === 'met' ? allowed : denied(policyDenial(condition, own, principal));
  }
  // What is not listed is denied without a challenge even where a scope is missing too: the new token would not help.
  if (attempt.method !== 'tools/call') {
    const detail = `wanted tools/call or protocol housekeeping, found ${shown(attempt.method)}`;
    return denied({ reason: 'method.unlisted', rule: 'tools', detail, scope: [] });
  }
  const tool = tools(attempt.tool);
  if (tool === undefined) {
    const detail = `wanted a tool that is listed, found ${shown(attempt.tool)}`;
    return denied({ reason: 'tool.unlisted', rule: 'tools', detail, scope: [] });
  }
  const verdict = graver(own, judge(tool.condition, principal));
  if (verdict === 'met') return tool.allowed;
  const operation: Condition = { kind: 'all', rule: tool.rule, conditions: [condition, tool.condition] };
  return denied(policyDenial(operation, verdict, principal));
}

function denied(denial: PolicyDenial): Decision {
  return { allow: false, rule: denial.rule, denial };
}
