import type { Call } from './call.ts';
import type { Denial, ShadowDenial } from './denial.ts';
import type { Attempt } from './policy.ts';
import type { Principal } from './principal.ts';
import type { RecordDetails } from './logged-members.ts';
import type { Refusal } from './refusal.ts';
import type { Endpoint } from './route.ts';

/** The part of a call that is known however early the gateway refused it. */
export type KnownCall = Pick<Call, 'id' | 'decision' | 'method' | 'startedAt' | 'trace'> &
  Partial<Pick<Call, 'path' | 'client'>>;

/** A decision for the records, with everything that the gateway knew when it decided. */
export interface Outcome {
  readonly call: KnownCall;
  readonly route: Endpoint | undefined;
  readonly principal: Principal | undefined;
  readonly attempt: Attempt | undefined;
  readonly allow: boolean;
  /** The rule of the policy that decided. */
  readonly rule: string | undefined;
  readonly denial: Denial | undefined;
  /** The denial that `mode: shadow` did not enforce. */
  readonly shadow: ShadowDenial | undefined;
  /** The id of the approval that the call used, or that it waits for. */
  readonly approval?: string | undefined;
  /** What the client of a refused call got; undefined for an allowed call, and if the answer failed. */
  readonly answer: RefusalAnswer | undefined;
  /** What is recorded besides the decision. Default: the path and the address. */
  readonly details?: RecordDetails | undefined;
  /** `performance.now()`. */
  readonly decidedAt: number;
}

/** The answer to a refused call, as far as it is recorded. */
export interface RefusalAnswer {
  readonly status: number;
  /** The values of `WWW-Authenticate`. */
  readonly challenges: readonly string[];
  /** The message of the policy in its body. */
  readonly because?: string | undefined;
}

/**
 * The outcomes of calls for their callers. `challenged`: the refusal asks the client for a token, a scope or a proof
 * that it can get. `unavailable`: the gateway, or what it asks, cannot decide now. `shadow`: the call passed only
 * because the policy is in shadow mode.
 */
export const outcomeKinds = {
  allowed: { isDenied: false },
  challenged: { isDenied: true },
  refused: { isDenied: true },
  unavailable: { isDenied: true },
  shadow: { isDenied: false },
} as const;

/** The outcome of a call for its caller. */
export type OutcomeKind = keyof typeof outcomeKinds;

/** The outcome of a decision. `shadow`: the refusal that shadow mode did not enforce. */
export function outcomeKind(decision: {
  readonly allow: boolean;
  readonly refusal: Refusal | undefined;
  readonly shadow: unknown;
}): OutcomeKind {
  const { allow, refusal, shadow } = decision;
  if (allow) return shadow === undefined ? 'allowed' : 'shadow';
  if (refusal?.isAsking === true) return 'challenged';
  return refusal !== undefined && refusal.status >= 500 ? 'unavailable' : 'refused';
}
