import type { Refusal } from './refusal.ts';

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
