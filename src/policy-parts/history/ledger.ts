/**
 * What was called before. History is a set of *tracks*: the counted calls of one rule over time, one owner, and the
 * values that must be the same. All rules of a call are judged, and the call is counted, in one atomic step.
 *
 * @module
 */

import type { Settlement } from '../../core/model/history.ts';

/** The most entries that a ledger keeps: about 200 MB in memory when full, about 300 MB for each route in Redis. */
export interface LedgerBounds {
  readonly ofAll: number;
  /** No caller may fill the ledger. */
  readonly ofOwner: number;
}

/** The bounds of every ledger. */
export const ledgerBounds: LedgerBounds = { ofAll: 500_000, ofOwner: 50_000 };

/** Counts calls, and judges further ones by what it counted. */
export interface Ledger {
  /**
   * Judges a call, and counts it if it passes. Its time is the ledger's own.
   *
   * @throws {Denial} `shared_store.unavailable` if what was counted cannot be read, unless `on_store_failure` is
   *   `open`.
   */
  reserve(reservation: Reservation): LedgerVerdict | Promise<LedgerVerdict>;
  /**
   * Notes how a call that was counted ended. A call that is never settled stays counted for `never_after` and quotas,
   * until its entries end. An unknown id and a second settlement change nothing. Never throws.
   *
   * @param route That of the reservation.
   */
  settle(id: string, outcome: Settlement, route: string): void | Promise<void>;
}

/** A call that is about to go on. */
export interface Reservation {
  /** Random, of this call alone. */
  readonly id: string;
  /** The name of the route. A call continues only a round on the same one. */
  readonly route: string;
  /** The caller. Each may have only a part of all entries. */
  readonly owner: string;
  readonly checks: readonly LedgerCheck[];
  /** What the call leaves if it passes, at most one in a track. */
  readonly entries: readonly LedgerEntry[];
  /** Whether the call is counted, whatever the checks say. */
  readonly isShadow: boolean;
  /**
   * The id of the round before, of the same call. If that round waits and left the same entries, they are taken over:
   * they do not count twice, and last from now on. Otherwise the call counts anew: a replay gains nothing.
   */
  readonly continues: string | undefined;
}

/** A condition on the entries of a track. */
export interface LedgerCheck {
  /** `after` wants an entry that was answered, `never_after` none at all, `quota` a sum. */
  readonly kind: 'after' | 'never_after' | 'quota';
  /** A digest: neither a subject nor a value in clear. */
  readonly track: string;
  /** What the call adds to a quota, in whole units; otherwise 0. */
  readonly amount: number;
  /** The most that a quota may sum up to, in whole units; otherwise 0. */
  readonly limit: number;
}

/** The entry that a call leaves in a track. */
export interface LedgerEntry {
  readonly track: string;
  /** In whole units; 0 in a track that no quota sums up. */
  readonly amount: number;
  /** When it ends: the window of the rule, and so the same for all entries of a track. */
  readonly keepMs: number;
}

/** Whether a call may go on. A call in shadow mode always may; `failed` then says why it would not. */
export type LedgerVerdict =
  | { readonly passed: true; readonly failed: Failed | undefined }
  | { readonly passed: false; readonly failed: Failed };

/** Why a call may not go on. */
export type Failed =
  | {
      readonly why: 'check';
      /** The index of the first check that failed. */
      readonly check: number;
      /** Of a quota: when enough entries will have ended that the call passes every quota. Otherwise 0. */
      readonly retryAfterMs: number;
    }
  | {
      readonly why: 'full';
      /** The bound that was reached, for the operator. */
      readonly detail: string;
    };
