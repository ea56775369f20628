import type { Settlement } from '../../core/model/history.ts';
import { type Clock, processTimers, type Timers } from '../../core/lib/clock.ts';
import { OwnerCounts } from '../../core/lib/fair-share.ts';
import {
  type Failed,
  type Ledger,
  type LedgerBounds,
  ledgerBounds,
  type LedgerCheck,
  type LedgerEntry,
  type Reservation,
  type LedgerVerdict,
} from './ledger.ts';
import {
  appendTo,
  createTimeline,
  firstOf,
  noteGone,
  type Timeline,
  addEntry,
  createTrack,
  endOf,
  noteAnswered,
  removeEntry,
  type Track,
  type TrackEntry,
} from './track.ts';
import { ensure } from '../../core/lib/remembered.ts';

/** The ledger of one process, which answers synchronously. */
export interface MemoryLedger extends Ledger {
  reserve(reservation: Reservation): LedgerVerdict;
  settle(id: string, outcome: Settlement): void;
  /** The number of entries that are kept. Those that have ended are removed at the next call at the latest. */
  size(): number;
}

const MAX_SWEPT = 1_000;
const SWEEP_MS = { least: 100, most: 60 * 60_000 };

interface OpenCall {
  readonly id: string;
  readonly entries: readonly CountedEntry[];
  /** The number of entries that have not gone. */
  left: number;
  isWaiting: boolean;
}

/** An entry of a track, and of those that end with it. */
interface CountedEntry extends TrackEntry {
  readonly owner: string;
  readonly sameWindow: Timeline<CountedEntry>;
  /** Undefined once it was answered. */
  call: OpenCall | undefined;
}

/**
 * Creates the ledger of one process. It forgets nothing before its end: a full ledger refuses calls.
 *
 * @param clock Milliseconds, monotonic: a clock that is set forward would forget. If it goes backwards, time stands
 *   still.
 * @param timers Remove what has ended while no call comes, so that the next one need not remove all of it.
 */
export function createMemoryLedger(clock: Clock, bounds: LedgerBounds = ledgerBounds, timers?: Timers): MemoryLedger {
  const tracks = new Map<string, Track>();
  /** By the length of the window: within one, entries end in the order in which they came. */
  const windows = new Map<number, Timeline<CountedEntry>>();
  const calls = new Map<string, OpenCall>();
  const owned = new OwnerCounts();
  let kept = 0;
  let now = -Infinity;
  let isSweeping = false;

  function removeEnded(most = Infinity): void {
    now = Math.max(now, clock());
    let removed = 0;
    for (const timeline of windows.values()) {
      for (let entry = firstOf(timeline); entry !== undefined && entry.endsAt <= now; entry = firstOf(timeline)) {
        if (removed === most) return;
        remove(entry);
        removed += 1;
      }
    }
  }

  function sweepLater(): void {
    if (timers === undefined || isSweeping || kept === 0) return;
    isSweeping = true;
    const ends = Math.min(...[...windows.values()].map((timeline) => firstOf(timeline)?.endsAt ?? Infinity));
    // What has ended by now was more than one turn may remove.
    const pauseMs = ends <= now ? 0 : Math.min(SWEEP_MS.most, Math.max(SWEEP_MS.least, ends - now));
    timers.after(pauseMs, () => {
      isSweeping = false;
      removeEnded(MAX_SWEPT);
      sweepLater();
    });
  }

  function remove(entry: CountedEntry): void {
    entry.isGone = true;
    noteGone(entry.sameWindow);
    removeEntry(entry);
    if (entry.track.count === 0) tracks.delete(entry.track.name);
    kept -= 1;
    owned.add(entry.owner, -1);
    if (entry.call === undefined) return;
    entry.call.left -= 1;
    if (entry.call.left === 0) calls.delete(entry.call.id);
  }

  function removeAll({ entries }: OpenCall): void {
    for (const entry of entries) if (!entry.isGone) remove(entry);
  }

  function keep({ id, owner, entries }: Reservation): void {
    if (entries.length === 0) return;
    const call: OpenCall = {
      id,
      entries: entries.map((entry) => keptEntry(owner, entry)),
      left: entries.length,
      isWaiting: false,
    };
    for (const entry of call.entries) {
      entry.call = call;
      addEntry(entry.track, entry);
      appendTo(entry.sameWindow, entry);
    }
    calls.set(id, call);
    owned.add(owner, entries.length);
    kept += entries.length;
    sweepLater();
  }

  function keptEntry(owner: string, { track: name, amount, keepMs }: LedgerEntry): CountedEntry {
    const track = ensure(tracks, name, () => createTrack(name));
    const sameWindow = ensure(windows, keepMs, () => createTimeline<CountedEntry>());
    const endsAt = now + keepMs;
    return { track, amount, endsAt, owner, sameWindow, isGone: false, isAnswered: false, place: 0, call: undefined };
  }

  /** The round before, if it waits and left the same entries. */
  function roundBefore({ continues, owner, entries }: Reservation): OpenCall | undefined {
    const call = continues === undefined ? undefined : calls.get(continues);
    if (call?.isWaiting !== true || call.entries.length !== entries.length) return undefined;
    const isSame = call.entries.every(({ track, amount, owner: before }, index) => {
      const entry = entries[index] as LedgerEntry;
      return before === owner && track.name === entry.track && amount === entry.amount;
    });
    return isSame ? call : undefined;
  }

  /** Judges all checks as if `before` had left nothing. */
  function judge({ checks }: Reservation, before: OpenCall | undefined): Failed | undefined {
    let first = -1;
    let endsAt = now;
    for (const [index, { kind, track: name, amount, limit }] of checks.entries()) {
      const track = tracks.get(name);
      const own = before?.entries.find((entry) => entry.track === track && !entry.isGone);
      const sum = (track?.sum ?? 0) - (own?.amount ?? 0);
      const excess = sum + amount - limit;
      if (passes(kind, track, own, excess)) continue;
      if (first === -1) first = index;
      if (kind !== 'quota' || track === undefined || sum === 0) continue;
      // A call that is over the limit alone waits for all entries, and never passes.
      endsAt = Math.max(endsAt, endOf(track, Math.min(excess, sum), own));
    }
    if (first === -1) return undefined;
    const { kind } = checks[first] as LedgerCheck;
    return { why: 'check', check: first, retryAfterMs: kind === 'quota' ? endsAt - now : 0 };
  }

  function fullFor({ owner, entries }: Reservation, before: OpenCall | undefined): Failed | undefined {
    const more = entries.length - (before?.left ?? 0);
    const own = owned.of(owner);
    if (own + more > bounds.ofOwner) return { why: 'full', detail: `${own} entries of this caller are kept` };
    if (kept + more > bounds.ofAll) return { why: 'full', detail: `${kept} entries are kept` };
    return undefined;
  }

  return {
    reserve(reservation) {
      removeEnded();
      const { isShadow } = reservation;
      const before = roundBefore(reservation);
      const failed = judge(reservation, before);
      if (failed !== undefined && !isShadow) return { passed: false, failed };
      const full = fullFor(reservation, before);
      if (full !== undefined)
        return isShadow ? { passed: true, failed: failed ?? full } : { passed: false, failed: full };
      if (before !== undefined) removeAll(before);
      keep(reservation);
      return { passed: true, failed };
    },
    settle(id, outcome) {
      const call = calls.get(id);
      if (call === undefined || call.isWaiting) return;
      if (outcome === 'waiting') call.isWaiting = true;
      else if (outcome === 'returned') removeAll(call);
      else answer(call);
    },
    size: () => kept,
  };

  function answer({ id, entries }: OpenCall): void {
    calls.delete(id);
    for (const entry of entries) {
      entry.call = undefined;
      if (!entry.isGone) noteAnswered(entry);
    }
  }
}

/** Creates the ledger that counts for the gateway in this process. */
export function createProcessLedger(): MemoryLedger {
  return createMemoryLedger(() => processTimers.now(), ledgerBounds, processTimers);
}

/**
 * Whether a check passes.
 *
 * @param own The entry of the round before, which does not count.
 * @param excess What the entries and the call sum up to beyond the limit.
 */
function passes(
  kind: LedgerCheck['kind'],
  track: Track | undefined,
  own: CountedEntry | undefined,
  excess: number,
): boolean {
  if (kind === 'quota') return excess <= 0;
  if (kind === 'after') return track !== undefined && track.answered > 0;
  return track === undefined || track.count === (own === undefined ? 0 : 1);
}
