import type { Call } from './call.ts';
import type { Denial, ShadowDenial } from './denial.ts';
import type { Attempt } from './policy.ts';
import type { Principal } from './principal.ts';
import type { Route } from './route.ts';

/** The part of a call that is known however early the gateway refused it. */
export type KnownCall = Pick<Call, 'id' | 'decision' | 'method' | 'startedAt' | 'trace'>;

/** A decision for the records, with everything that the gateway knew when it decided. */
export interface Outcome {
  readonly call: KnownCall;
  readonly route: Route | undefined;
  readonly principal: Principal | undefined;
  readonly attempt: Attempt | undefined;
  readonly allow: boolean;
  /** The rule of the policy that decided. */
  readonly rule: string | undefined;
  readonly denial: Denial | undefined;
  /** The denial that `mode: shadow` did not enforce. */
  readonly shadow: ShadowDenial | undefined;
  /** `performance.now()`. */
  readonly decidedAt: number;
}
