import type { PolicyDenial } from '../model/denial.ts';
import type { Attempt, Explanation, PartKey } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { ArgumentCondition } from './argument.ts';
import type { Verdict } from './conditions/condition.ts';
import type { AllCondition } from './conditions/groups.ts';
import type { Entry } from './entry.ts';
import type { Unlisted } from './listing.ts';
import type { VariableCondition } from './variable.ts';

/** A part of a policy that may refuse a call. */
export type Step =
  | (AnyStep &
      (
        | { readonly on: 'condition'; readonly condition: AllCondition }
        | { readonly on: 'listing'; readonly unlisted: Unlisted }
        | { readonly on: 'argument'; readonly argument: ArgumentCondition }
        /** A member of `params` besides those that calls of tools have, from which a server might read arguments. */
        | { readonly on: 'other member' }
        /** `at`: the place of its entry among those of the call, and of its target among the targets. */
        | { readonly on: 'variable'; readonly variable: VariableCondition; readonly at: number }
      ))
  | PartStep;

/** A step of a part of the language that a capability puts into effect. */
export interface PartStep extends AnyStep {
  readonly on: 'part';
  readonly part: PartKey;
}

interface AnyStep {
  /** The entry that it belongs to; undefined for one of the policy, or of a part. */
  readonly entry?: Entry | undefined;
  /** The inner tool whose call it judges; undefined: the call itself. */
  readonly tool?: string;
  /** The operator's words for a caller that it refuses. */
  readonly because: string | undefined;
  /**
   * The denial, if no token that this caller may get would help, or else the verdict. It allocates only for a denial.
   *
   * @throws whatever a predicate throws.
   */
  readonly judge: (principal: Principal, call: Attempt) => PolicyDenial | Exclude<Verdict, 'refused'>;
  readonly explain: (principal: Principal, call: Attempt) => readonly Explanation[];
}
