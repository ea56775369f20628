import type { PolicyDenial } from '../model/denial.ts';
import type { Attempt, Explanation, McpAttempt, PartKey, Plan, PolicyDecision } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { ArgumentCondition } from './argument.ts';
import type { Verdict } from './conditions/condition.ts';
import type { AllCondition } from './conditions/groups.ts';
import type { PolicyFault } from './document.ts';
import type { Entry } from './entry.ts';
import type { EntryCompiler } from './entry-part.ts';
import type { Listing, Unlisted } from './listing.ts';
import type { VariableCondition } from './variable.ts';

/** A part of a policy that may refuse a call. */
export type Step =
  | (AnyStep &
      (
        | { readonly on: 'condition'; readonly condition: AllCondition }
        | { readonly on: 'listing'; readonly unlisted: Unlisted }
        | { readonly on: 'argument'; readonly argument: ArgumentCondition }
        /** A member of `params` besides those that calls of tools have, from which a server might read arguments. */
        | { readonly on: 'other member'; readonly entry: Entry }
        /** `at`: the place of its entry among those of the call, and of its target among the targets. */
        | { readonly on: 'variable'; readonly variable: VariableCondition; readonly at: number }
      ))
  | PartStep;

/** A step of a part of the language that a capability puts into effect. */
export interface PartStep extends AnyStep {
  readonly on: 'part';
  readonly part: PartKey;
  /** Its conditions with their outcomes, for explanations. Never throws. */
  readonly explain: (principal: Principal, call: Attempt) => readonly Explanation[];
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
}

/** What a part makes of calls of one kind. */
export interface PlanPart {
  /** In the order in which they are tried, after those of the language and of earlier parts. */
  readonly steps: readonly PartStep[];
  /** The arguments that it reads of a call: keys from the top of them. An empty path: all of them. */
  argumentsRead(attempt: Attempt): readonly (readonly string[])[];
  /**
   * What the part makes of several calls that are one: the call itself, whose plan has this, then its inner calls.
   * Their steps are judged already. Default: this says all.
   */
  readonly join?: (calls: readonly PartOfCall[]) => PlanPart;
}

/** Calls that a policy decides by the same entries, as a part sees them. */
interface PlannedCalls {
  /** Without those that the calls only name, as a completion does. */
  readonly entries: readonly Entry[];
  /** Whether such a call passes, whatever the steps say. */
  readonly isShadow: boolean;
  /** What a proof knows of such calls; undefined: nothing. See `CallKind.known`. */
  readonly known: unknown;
}

/** A plan, as a decision goes through it. */
export interface DecidingPlan extends Plan {
  /** In the order in which they are tried. If none of them denies, the gravest verdict decides. */
  readonly steps: readonly Step[];
  /** The conditions on the caller, of all steps. */
  readonly conditions: readonly AllCondition[];
  /** The decision if every verdict is `met`, made once. */
  readonly allowed: PolicyDecision;
  readonly parts: ReadonlyMap<PartKey, PlanPart>;
}

/** A part of the language. It is opened for each policy that has it. */
export interface LanguagePart<OfPolicy extends object = object> extends EntryCompiler {
  /** Appends to `faults` what contradicts the listing. @returns undefined if no entry has one of its keys. */
  open(listing: Listing, isShadow: boolean, faults: PolicyFault[]): OfPolicy | undefined;
  plan(policy: OfPolicy, calls: PlannedCalls): PlanPart;
  /** How a policy decides a call as several calls. One part has it. */
  readonly inner?: {
    /** As `Policy.innerCalls`. */
    calls(policy: OfPolicy, attempt: Attempt): readonly McpAttempt[];
    /** As `Policy.callsOthers`. */
    isIn(policy: OfPolicy, tool: string): boolean;
    /** The plan for a call and its inner calls. @param planOf The plan for a call alone. */
    plan(policy: OfPolicy, attempt: Attempt, planOf: (attempt: Attempt) => DecidingPlan): DecidingPlan;
  };
}

/** A part of the plan of one call among several that are one. */
export interface PartOfCall {
  readonly part: PlanPart;
  readonly attempt: Attempt;
  /** The inner tool that it calls; undefined: it is the call itself. */
  readonly tool: string | undefined;
}

/** A part of one policy. */
export interface OpenPart {
  readonly part: LanguagePart;
  readonly of: object;
}
