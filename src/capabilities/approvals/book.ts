/**
 * The requests for approvals, and the approvals, that the gateway keeps: in memory, or in a store over all replicas.
 *
 * @module
 */

import type { ApprovalDecision } from '../operator-approvals.ts';

/** The states of a request: the last two are over. */
export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired' | 'used';

/** The part of a call that approvers see. */
export interface ApprovalCall {
  readonly route: string;
  readonly method: string;
  /** Of a tool, a prompt or a resource. */
  readonly name?: string | undefined;
  /** JSON, with the digits of numbers as they were sent; the whole of it, or what `shows` allows. */
  readonly arguments?: string | undefined;
  /** With its query, of a request on an HTTP route; on an MCP route, if it is not the endpoint alone. */
  readonly path?: string | undefined;
  /** JSON: everything else that is bound, such as what `shows` leaves out. Approvers can unfold it. */
  readonly unshown?: string | undefined;
  /** How many values {@link unshown} has. */
  readonly hidden: number;
}

/** A request for an approval, as it was made. */
export interface ApprovalRequest {
  /** 128 random bits. */
  readonly id: string;
  readonly call: ApprovalCall;
  readonly caller: {
    readonly issuer: string;
    readonly subject: string | undefined;
    readonly client: string | undefined;
  };
  /** {@link NeededApproval.asker}: part of {@link ApprovalRequest.digest}. */
  readonly asker?: string | undefined;
  readonly because: string | undefined;
  /** The SHA-256 of everything that the approval is bound to, base64url. */
  readonly digest: string;
  /** The paths of the policy that want it. */
  readonly rules: readonly string[];
  /** {@link NeededApproval.identity} and the locked definition, as a digest. */
  readonly identity: string;
  readonly createdAt: number;
  /** How long an approval can be used. */
  readonly validMs: number;
}

/** A request as it is now. */
export interface KeptApproval extends ApprovalRequest {
  readonly status: ApprovalStatus;
  /** When its state ends, in milliseconds since the epoch. */
  readonly endsAt: number;
}

/** A call that needs an approval. */
export interface AskedCall {
  readonly request: ApprovalRequest;
  /** A digest of the caller. A bound limits the requests of each caller. */
  readonly owner: string;
  readonly waitMs: number;
  /** The id of the round before, of the same call. */
  readonly continues: string | undefined;
}

/** The answer to a call that needs an approval. `taken`: it may go on, and no other may. */
export type AskAnswer =
  | { readonly kind: 'taken' | 'waiting' | 'denied'; readonly approval: KeptApproval; readonly isNew: boolean }
  | { readonly kind: 'full'; readonly detail: string };

/** The states from which each decision leads on. */
export const decidedFrom: Readonly<Record<ApprovalDecision, readonly ApprovalStatus[]>> = {
  approve: ['pending'],
  deny: ['pending'],
  withdraw: ['denied', 'approved'],
};

/** The end of a call that took its approval. `unused`: it never reached the upstream. `round`: a round may follow. */
export type ApprovalUse = { readonly unused: true } | { readonly round: string } | 'used';

/** The bounds of a book: the live requests of a caller and of all, and their bytes, as JSON or sealed. */
export interface ApprovalBounds {
  readonly ofOwner: number;
  readonly ofAll: number;
  readonly bytesOfOwner: number;
  readonly bytes: number;
}

const MiB = 1024 * 1024;
export const approvalBounds: ApprovalBounds = { ofOwner: 100, ofAll: 10_000, bytesOfOwner: MiB, bytes: 64 * MiB };

/** The longest request, as JSON. */
export const MAX_REQUEST_BYTES = 64 * 1024;

/** The time for which a request that is over can be read, and the next round of a call may come. */
export const OVER_MS = 10 * 60_000;

/** Keeps requests and approvals. Nothing is forgotten for another; a full book refuses. */
export interface ApprovalBook {
  /** Takes the approval of a call, or finds its request, or makes one. In one atomic step. */
  ask(call: AskedCall): AskAnswer | Promise<AskAnswer>;
  /** Notes what became of a call that took its approval. Never rejects. */
  settle(route: string, id: string, use: ApprovalUse): void | Promise<void>;
  /** The newest state after a decision; undefined for an unknown id. */
  decide(
    route: string,
    id: string,
    decision: ApprovalDecision,
  ): DecidedApproval | undefined | Promise<DecidedApproval | undefined>;
  find(route: string, id: string): KeptApproval | undefined | Promise<KeptApproval | undefined>;
  /** Those that live, the oldest first, {@link withoutArguments}. */
  list(route: string): readonly KeptApproval[] | Promise<readonly KeptApproval[]>;
  /** Ends a request whose entry has changed. */
  expire(route: string, id: string): void | Promise<void>;
  /** What ended since the last question, each once over all processes and replicas, and how many wait. */
  sweep(route: string): SweptApprovals | Promise<SweptApprovals>;
}

/** A request as lists have it. Its size does not depend on what the call carries. */
export function withoutArguments<Request extends ApprovalRequest>(request: Request): Request {
  const { arguments: _, unshown: _unshown, ...call } = request.call;
  return { ...request, call };
}

/** The result of a decision. */
export interface DecidedApproval {
  readonly approval: KeptApproval;
  /** Whether this decision led to its state. */
  readonly isDone: boolean;
}

/** The result of {@link ApprovalBook.sweep}. */
export interface SweptApprovals {
  readonly expired: readonly KeptApproval[];
  readonly waiting: number;
}

/** An event of a request. */
export type ApprovalEvent = 'requested' | 'approved' | 'denied' | 'withdrawn' | 'used' | 'expired';

/** Observes approvals: the log, metrics, and `approvals.notify`. */
export interface ApprovalObserver {
  /** @param by The subject of the person who decided, or `operator`. */
  event(event: ApprovalEvent, approval: KeptApproval, by?: string): void;
  /** How many requests of a route wait. */
  waiting(route: string, count: number): void;
}
