import type { Attempt, Decision } from './policy.ts';
import type { Principal } from './principal.ts';

/** A JSON-RPC request id, or null where the message has none or could not be read. */
export type MessageId = string | number | null;

/** What a call attempts, with the body where it had to be read. Exists only once the caller is known. */
export interface Action {
  readonly attempt: Attempt;
  readonly messageId: MessageId;
  /** The bytes that were decided on, to be forwarded as they are; undefined: the body was not read and streams. */
  readonly body: Buffer | undefined;
}

/** The proof that a call may go on to its upstream. */
export interface Grant {
  /** Undefined on a public route. */
  readonly principal: Principal | undefined;
  readonly action: Action;
  readonly decision: Extract<Decision, { allow: true }>;
}

declare const presented: unique symbol;
/** An access token as a client presented it: syntactically a token, nothing more. */
export type PresentedToken = string & { readonly [presented]: true };

declare const credential: unique symbol;
/** The `Authorization` value that the upstream gets; undefined is none. */
export type UpstreamCredential = (string & { readonly [credential]: true }) | undefined;
