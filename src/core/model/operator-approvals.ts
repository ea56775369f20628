/** @module Approvals of calls, as the front door and the console see them. A capability provides them. */

import { Slot } from './gate.ts';
import type { Endpoint } from './route.ts';

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

/** `approvals` of gateway.yaml. */
export interface ApprovalSettings {
  /** The URL of the API, `public_url` and `path`. */
  readonly url: string;
  /** The same where the front door reaches it. */
  readonly backchannel: string;
  /** The API: whose tokens it accepts. */
  readonly route: Endpoint;
  readonly notify: { readonly url: string; readonly secret: string } | undefined;
}

/** `approvals`; undefined: no call can be approved. */
export const approvalSettings = new Slot<ApprovalSettings>();
