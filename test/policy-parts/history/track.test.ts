import { expect, test } from 'vitest';
import fc from 'fast-check';
import {
  appendTo,
  createTimeline,
  firstOf,
  noteGone,
  type Timed,
  createPrefixSums,
} from '../../../src/policy-parts/history/track.ts';

test('keeps the order of what is left, and fewer items that have gone', () => {
  const timeline = createTimeline<Timed>();
  const items = Array.from({ length: 100 }, (_, endsAt): Timed => ({ endsAt, isGone: false }));
  for (const item of items) appendTo(timeline, item);
  let left = items;
  for (const gone of items.toSorted((one, other) => ((one.endsAt * 37) % 101) - ((other.endsAt * 37) % 101))) {
    const before = timeline.items;
    gone.isGone = true;
    const hasMoved = noteGone(timeline);
    left = left.filter((item) => item !== gone);
    expect(firstOf(timeline)).toBe(left[0]);
    expect(timeline.items.filter(({ isGone }) => !isGone)).toEqual(left);
    expect(timeline.items.length - left.length).toBeLessThan(Math.max(1, timeline.items.length / 2));
    expect(hasMoved).toBe(timeline.items !== before);
  }
});

test('moves no item until half of them have gone', () => {
  const timeline = createTimeline<Timed>();
  const items = [1, 2, 3].map((endsAt): Timed => ({ endsAt, isGone: false }));
  for (const item of items) appendTo(timeline, item);
  const moves = items.slice(0, 2).map((item) => {
    item.isGone = true;
    return noteGone(timeline);
  });
  expect(moves).toEqual([false, true]);
});

test('gives a new item the place after all others', () => {
  const timeline = createTimeline<Timed>();
  const places = [1, 2, 3].map((endsAt) => appendTo(timeline, { endsAt, isGone: false }));
  expect(places).toEqual([0, 1, 2]);
});

/** Reads the list as it is. */
function indexOf(values: readonly number[], total: number): number {
  let sum = 0;
  const index = values.findIndex((value) => (sum += value) >= total);
  return index === -1 ? values.length : index;
}

test('finds what a walk over the list finds, after any appended and changed values', () => {
  const operation = fc.oneof(
    fc.record({ append: fc.nat(9) }),
    fc.record({ change: fc.nat(99), to: fc.nat(9) }),
    fc.record({ find: fc.integer({ min: 1, max: 200 }) }),
  );
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 150, size: 'max' }), (operations) => {
      const values: number[] = [];
      const sums = createPrefixSums();
      const found: number[] = [];
      const expected: number[] = [];
      for (const each of operations) {
        if ('append' in each) {
          values.push(each.append);
          sums.append(each.append);
        } else if ('find' in each) {
          found.push(sums.indexOf(each.find));
          expected.push(indexOf(values, each.find));
        } else if (values.length > 0) {
          const index = each.change % values.length;
          sums.change(index, each.to - (values[index] as number));
          values[index] = each.to;
        }
      }
      expect(found).toEqual(expected);
    }),
  );
});
