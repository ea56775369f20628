import type { Clock } from '../../core/lib/clock.ts';
import { type OutcomeKind, outcomeKinds } from '../../core/model/outcome-kind.ts';
import { ensure } from '../../core/lib/remembered.ts';

/** A slot, in a form that is small as JSON. */
export interface RateSlot {
  /** Its beginning, in milliseconds since the epoch. */
  readonly at: number;
  /** Its values that are not 0, each after its index. */
  readonly values: readonly number[];
}

/** A slot for people. Durations are in milliseconds; undefined if there was none. */
export interface RatePoint {
  /** Its beginning, in milliseconds since the epoch. */
  readonly at: number;
  readonly counts: Readonly<Record<OutcomeKind, number>>;
  readonly decision: Quantiles | undefined;
  readonly upstream: Quantiles | undefined;
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

/** The length of a slot, and how many of them are kept: an hour. */
export const SLOT_MS = 10_000;
const SLOTS = 360;

const kinds = Object.keys(outcomeKinds) as readonly OutcomeKind[];
/** Each bucket of durations ends a quarter above the one before: from 10 µs to a minute. */
const LEAST_MS = 0.01;
const GROWTH = 1.25;
const BUCKETS = 70;
const perBucket = 1 / Math.log(GROWTH);
/** A slot: the counts by kind, then the buckets of decisions, then those of upstreams. */
const DECISIONS = kinds.length;
const UPSTREAMS = DECISIONS + BUCKETS;
const WIDTH = UPSTREAMS + BUCKETS;
const column = Object.fromEntries(kinds.map((kind, index) => [kind, index])) as Readonly<Record<OutcomeKind, number>>;

/** The decisions and durations of the last hour, in slots of ten seconds. Counting allocates nothing. */
export class Rates {
  readonly #clock: Clock;
  readonly #counts = new Uint32Array(SLOTS * WIDTH);
  /** The slot that each row holds, counted from the epoch. */
  readonly #slotOfRow = new Float64Array(SLOTS).fill(-1);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  decision(kind: OutcomeKind, ms: number): void {
    const offset = this.#current();
    this.#count(offset + column[kind]);
    this.#count(offset + DECISIONS + bucketOf(ms));
  }

  upstream(ms: number): void {
    this.#count(this.#current() + UPSTREAMS + bucketOf(ms));
  }

  /** The slots with at least one decision or answer, the oldest first. */
  slots(): readonly RateSlot[] {
    const oldest = Math.floor(this.#clock() / SLOT_MS) - SLOTS + 1;
    const rows = [...this.#slotOfRow].map((slot, row) => ({ slot, row })).filter(({ slot }) => slot >= oldest);
    return rows
      .toSorted((one, other) => one.slot - other.slot)
      .map(({ slot, row }) => ({
        at: slot * SLOT_MS,
        values: [...this.#counts.subarray(row * WIDTH, (row + 1) * WIDTH)].flatMap((value, index) =>
          value === 0 ? [] : [index, value],
        ),
      }));
  }

  /** The offset of the current slot's row, which is cleared if it holds an older slot. */
  #current(): number {
    const slot = Math.floor(this.#clock() / SLOT_MS);
    const row = slot % SLOTS;
    if (this.#slotOfRow[row] !== slot) {
      this.#counts.fill(0, row * WIDTH, (row + 1) * WIDTH);
      this.#slotOfRow[row] = slot;
    }
    return row * WIDTH;
  }

  #count(index: number): void {
    this.#counts[index] = (this.#counts[index] as number) + 1;
  }
}

/** The points of one process, or of several whose slots are added. */
export function ratePoints(slots: readonly RateSlot[]): readonly RatePoint[] {
  const sums = new Map<number, Uint32Array>();
  for (const { at, values } of slots) {
    const sum = ensure(sums, at, () => new Uint32Array(WIDTH));
    for (let place = 0; place < values.length; place += 2) {
      const index = values[place] ?? 0;
      sum[index] = (sum[index] ?? 0) + (values[place + 1] ?? 0);
    }
  }
  return [...sums]
    .toSorted(([one], [other]) => one - other)
    .map(([at, sum]) => ({
      at,
      counts: Object.fromEntries(kinds.map((kind) => [kind, sum[column[kind]] ?? 0])) as RatePoint['counts'],
      decision: quantilesOf(sum.subarray(DECISIONS, UPSTREAMS)),
      upstream: quantilesOf(sum.subarray(UPSTREAMS)),
    }));
}

function bucketOf(ms: number): number {
  return ms <= LEAST_MS ? 0 : Math.min(Math.ceil(Math.log(ms / LEAST_MS) * perBucket), BUCKETS - 1);
}

function quantilesOf(buckets: Uint32Array): Quantiles | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  return total === 0 ? undefined : { p50: quantile(buckets, total * 0.5), p99: quantile(buckets, total * 0.99) };
}

/** The middle of the bucket that holds the value of that rank. */
function quantile(buckets: Uint32Array, rank: number): number {
  let seen = 0;
  const bucket = buckets.findIndex((count) => (seen += count) >= rank);
  return LEAST_MS * GROWTH ** (bucket - 0.5);
}
