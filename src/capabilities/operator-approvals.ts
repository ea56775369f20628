/** @module Requests for approvals, as an operator sees and decides them. A capability provides them. */

/** A decision of a person. */
export type ApprovalDecision = 'approve' | 'deny' | 'withdraw';

/** An answer to the operator. `body`: JSON text, in which numbers keep their digits; or why the status is not 200. */
export interface OperatorAnswer {
  readonly status: number;
  readonly body: string;
}

/** The requests for approvals that wait for a person. */
export interface WaitingApprovals {
  readonly count: number;
  /** The first of them. Of a call, it has what Live has: no arguments. */
  readonly oldest: readonly {
    readonly id: string;
    readonly route: string;
    readonly called: string;
    readonly subject?: string | undefined;
    readonly client?: string | undefined;
    /** In milliseconds since the epoch. */
    readonly createdAt: number;
    readonly endsAt: number;
  }[];
  /** Why the gateway does not know what waits. */
  readonly problem?: string;
}

/** Requests for approvals, for the operator. Never rejects. */
export interface OperatorApprovals {
  list(): Promise<OperatorAnswer>;
  find(id: string): Promise<OperatorAnswer>;
  waiting(): Promise<WaitingApprovals>;
  /** Answers with the object of the request. */
  decide(id: string, decision: ApprovalDecision): Promise<OperatorAnswer>;
}
