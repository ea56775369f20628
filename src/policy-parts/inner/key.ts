import { PartKey } from '../../core/model/policy.ts';
import type { PlanPart } from '../../core/policy/part.ts';
import type { InnerCallReader, Wrapper } from './inner-calls.ts';

/** The tools of a policy that call other tools. */
export interface PolicyInner {
  readonly reader: InnerCallReader;
  /** Where the arguments of a tool name those that it calls; undefined: its entry does not say it. */
  readonly wrapperOf: (tool: string) => Wrapper | undefined;
}

/** The inner calls of calls of one kind. */
export interface PlanInner extends PlanPart {
  /** Where the arguments of such a call name its inner calls; undefined: it has none. */
  readonly wrapper: Wrapper | undefined;
}

/** Tools that call other tools: `inner` of entries. */
export const innerKey = new PartKey<PolicyInner, PlanInner>('inner calls');
