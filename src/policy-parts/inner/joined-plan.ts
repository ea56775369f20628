import type { Attempt, PartKey, PolicyDecision } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { Condition } from '../../core/policy/conditions/condition.ts';
import type { AllCondition } from '../../core/policy/conditions/groups.ts';
import type { DecidingPlan, PlanPart, Step } from '../../core/policy/part.ts';
import { scopesOfAll } from '../../core/policy/plan.ts';

/** A call, and how the policy decides it alone. */
export interface PlannedCall {
  readonly plan: DecidingPlan;
  readonly attempt: Attempt;
  /** The inner tool that it calls; undefined: the call itself. */
  readonly tool: string | undefined;
}

/**
 * The way in which a policy decides a call and its inner calls as one: each must be allowed, and a challenge names the
 * scopes of all. It is made for one call.
 */
export class JoinedPlan implements DecidingPlan {
  readonly steps: readonly Step[];
  readonly conditions: readonly AllCondition[];
  readonly allowed: PolicyDecision;
  readonly because: string | undefined;
  readonly parts: ReadonlyMap<PartKey, PlanPart>;
  readonly outer: PlannedCall;
  readonly inner: readonly PlannedCall[];

  constructor(outer: PlannedCall, inner: readonly PlannedCall[]) {
    const calls = [outer, ...inner];
    this.outer = outer;
    this.inner = inner;
    this.steps = stepsOf(calls);
    this.conditions = this.steps.flatMap((step) => (step.on === 'condition' ? step.condition : []));
    this.because = outer.plan.because;
    this.allowed = { allow: true, rule: outer.plan.allowed.rule, plan: this };
    this.parts = new Map(
      [...outer.plan.parts].map(([key, part]) => [key, part.join?.(partsOf(key, calls)) ?? part] as const),
    );
  }

  neededScopes(principal: Principal): readonly string[] {
    return scopesOfAll(this.conditions, principal);
  }

  argumentsRead(attempt: Attempt): readonly (readonly string[])[] {
    return this.outer.plan.argumentsRead(attempt);
  }
}

/** The steps of all calls, each for its own call. A condition on the caller is judged once. */
function stepsOf(calls: readonly PlannedCall[]): readonly Step[] {
  const judged = new Set<Condition>();
  return calls.flatMap(({ plan, attempt, tool }) => {
    const own = plan.steps.filter((step) => step.on !== 'condition' || !judged.has(step.condition));
    for (const step of own) if (step.on === 'condition') judged.add(step.condition);
    return tool === undefined ? own : own.map((step) => stepOf(step, attempt, tool));
  });
}

function stepOf(step: Step, attempt: Attempt, tool: string): Step {
  return { ...step, tool, judge: (principal) => step.judge(principal, attempt) };
}

function partsOf(key: PartKey, calls: readonly PlannedCall[]) {
  return calls.flatMap(({ plan, attempt, tool }) => {
    const part = plan.parts.get(key);
    return part === undefined ? [] : [{ part, attempt, tool }];
  });
}
