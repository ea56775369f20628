import fc from 'fast-check';
import type { Settlement } from '../../../src/core/model/history.ts';
import type { LedgerCheck, LedgerEntry } from '../../../src/policy-parts/history/ledger.ts';

/** One step of a random history. Calls are named by their number, and windows by their track. */
export type Step =
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'settle'; readonly call: number; readonly outcome: Settlement }
  | {
      readonly kind: 'reserve';
      readonly owner: string;
      readonly checks: readonly LedgerCheck[];
      readonly entries: readonly LedgerEntry[];
      readonly isShadow: boolean;
      /** Counted back from the newest call. */
      readonly continues: number | undefined;
      /** What the next round has of the call before. */
      readonly repeats: 'all' | 'entries' | 'tracks' | 'amounts' | 'nothing';
    };

const tracks = ['a', 'b', 'c', 'd'] as const;
/** In milliseconds, by track: so long that no key of a real store ends while a test runs. */
const windows = { a: 60_000, b: 61_000, c: 90_000, d: 300_000 };
const amount = fc.oneof(fc.integer({ min: 0, max: 10 }), fc.constant(2 ** 51));
const track = fc.constantFrom(...tracks);

const reserve = fc.record({
  kind: fc.constant('reserve' as const),
  owner: fc.constantFrom('alice', 'bob'),
  checks: fc.uniqueArray(
    fc.record({
      kind: fc.constantFrom('after' as const, 'never_after' as const, 'quota' as const, 'quota' as const),
      track,
      amount,
      limit: fc.integer({ min: 5, max: 40 }),
    }),
    { selector: (check) => check.track, maxLength: 3 },
  ),
  entries: fc.uniqueArray(
    fc.constantFrom(...tracks).chain((name) =>
      fc.record({
        track: fc.constant(name),
        amount: fc.integer({ min: 0, max: 10 }),
        keepMs: fc.constant(windows[name]),
      }),
    ),
    { selector: (entry) => entry.track, maxLength: 3 },
  ),
  isShadow: fc.nat(9).map((number) => number === 0),
  continues: fc.option(fc.nat(3), { nil: undefined }),
  repeats: fc.constantFrom('all', 'all', 'entries', 'tracks', 'amounts', 'nothing'),
});

/** Steps in which calls often pass, end, wait, and go on. */
export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: reserve },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('settle' as const),
        call: fc.nat(4),
        outcome: fc.constantFrom<Settlement>('answered', 'returned', 'waiting'),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.integer({ min: 0, max: 40 }) }),
    },
  ),
  { maxLength: 120, size: 'max' },
);
