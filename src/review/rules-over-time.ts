import { createMemoryLedger, type MemoryLedger } from '../store/memory-ledger.ts';
import type { Clock } from '../lib/clock.ts';
import type { HistoryCheck } from '../model/history.ts';
import type { Failed, Reservation } from '../model/ledger.ts';
import type { Decision } from '../model/policy.ts';

/** The ledger that counts for the gateway, for described or recorded calls: no bound refuses one. */
export function createReviewLedger(clock: Clock): MemoryLedger {
  return createMemoryLedger(clock, { ofAll: Infinity, ofOwner: Infinity });
}

/** Judges a call by one of its checks, and counts nothing. @returns undefined if it is met. */
export function failureOf(ledger: MemoryLedger, call: Reservation, check: number): Failed | undefined {
  return ledger.reserve({ ...call, checks: call.checks.slice(check, check + 1), entries: [] }).failed;
}

/** The decision on a call that a rule over time refuses. */
export function deniedBy(check: HistoryCheck, isShadow: boolean): Decision {
  const { rule, denial } = check;
  return isShadow ? { allow: true, rule, shadow: denial } : { allow: false, rule, denial };
}
