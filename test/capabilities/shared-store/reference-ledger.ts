import type { Clock } from '../../../src/core/lib/clock.ts';
import type { Settlement } from '../../../src/core/model/history.ts';
import type { Ledger, LedgerEntry, Reservation, LedgerVerdict } from '../../../src/policy-parts/history/ledger.ts';

interface Row extends LedgerEntry {
  readonly id: string;
  readonly owner: string;
  readonly endsAt: number;
}

/** A ledger that walks over all that it keeps, and so is easy to believe. It has no bounds. */
export function createReferenceLedger(clock: Clock): Ledger & { reserve(reservation: Reservation): LedgerVerdict } {
  let rows: readonly Row[] = [];
  const states = new Map<string, Settlement | 'pending'>();
  /** What each call left, as text. */
  const lists = new Map<string, string>();
  return {
    reserve({ id, owner, checks, entries, isShadow, continues }) {
      const now = clock();
      rows = rows.filter(({ endsAt }) => endsAt > now);
      const before = rows.filter((row) => row.id === continues);
      const isRound =
        continues !== undefined &&
        before.length > 0 &&
        states.get(continues) === 'waiting' &&
        lists.get(continues) === entries.map((entry) => `${owner} ${entry.track} ${entry.amount}`).join();
      const counted = isRound ? rows.filter((row) => row.id !== continues) : rows;
      const waits = checks.map(({ kind, track, amount, limit }) => {
        const inTrack = counted.filter((row) => row.track === track);
        if (kind === 'after') return inTrack.some((row) => states.get(row.id) === 'answered') ? -1 : 0;
        if (kind === 'never_after') return inTrack.length === 0 ? -1 : 0;
        const sumAfter = (time: number): number =>
          inTrack.filter(({ endsAt }) => endsAt > time).reduce((sum, row) => sum + row.amount, amount);
        if (sumAfter(now) <= limit) return -1;
        const times = [now, ...inTrack.map(({ endsAt }) => endsAt).toSorted((one, other) => one - other)];
        // A call that is over the limit alone never passes.
        return (times.find((time) => sumAfter(time) <= Math.max(limit, amount)) ?? now) - now;
      });
      const check = waits.findIndex((wait) => wait >= 0);
      const isQuota = checks[check]?.kind === 'quota';
      const failed =
        check === -1 ? undefined : { why: 'check' as const, check, retryAfterMs: isQuota ? Math.max(...waits) : 0 };
      if (failed !== undefined && !isShadow) return { passed: false, failed };
      rows = [...counted, ...entries.map((entry) => ({ ...entry, id, owner, endsAt: now + entry.keepMs }))];
      states.set(id, 'pending');
      lists.set(id, entries.map((entry) => `${owner} ${entry.track} ${entry.amount}`).join());
      if (isRound) states.delete(continues);
      return { passed: true, failed };
    },
    settle(id, outcome) {
      if (states.get(id) !== 'pending') return;
      states.set(id, outcome);
      if (outcome === 'returned') rows = rows.filter((row) => row.id !== id);
    },
  };
}
