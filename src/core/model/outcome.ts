import type { Call } from './call.ts';
import type { Denial, ShadowDenial } from './denial.ts';
import type { Attempt } from './policy.ts';
import type { Claims, Principal } from './principal.ts';
import type { Endpoint } from './endpoint.ts';

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

/** What records say of a call and its caller besides the decision: `log` of gateway.yaml. */
export interface RecordDetails {
  readonly paths: boolean;
  readonly addresses: boolean;
  readonly claims: readonly RecordedClaim[];
  /** Undefined: none. */
  readonly arguments: RecordedArguments | undefined;
}

/** What records say of the arguments of a call: `log.arguments`. */
export interface RecordedArguments {
  /** The scalars that are recorded, by JSON Pointer. */
  readonly show: readonly { readonly pointer: string; readonly read: (value: unknown) => unknown }[];
  /** Whether the digest of all of them is recorded. */
  readonly digest: boolean;
}

/** A claim that people want to read in records. */
export interface RecordedClaim {
  /** As written: a name, or a JSON Pointer. */
  readonly name: string;
  readonly read: (claims: Claims) => unknown;
}

/** The answer to a refused call, as far as it is recorded. */
export interface RefusalAnswer {
  readonly status: number;
  /** The values of `WWW-Authenticate`. */
  readonly challenges: readonly string[];
  /** The message of the policy in its body. */
  readonly because?: string | undefined;
}
