/** @module Requests for approvals, as an operator sees and decides them. A capability provides them. */

/** A decision of a person. */
export type ApprovalDecision = 'approve' | 'deny' | 'withdraw';

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
