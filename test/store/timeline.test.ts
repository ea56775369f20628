import { expect, test } from 'vitest';
import { append, createTimeline, firstOf, noteGone, type Timed } from '../../src/store/timeline.ts';

test('keeps the order of what is left, and fewer items that have gone', () => {
  const timeline = createTimeline<Timed>();
  const items = Array.from({ length: 100 }, (_, endsAt): Timed => ({ endsAt, isGone: false }));
  for (const item of items) append(timeline, item);
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
  for (const item of items) append(timeline, item);
  const moves = items.slice(0, 2).map((item) => {
    item.isGone = true;
    return noteGone(timeline);
  });
  expect(moves).toEqual([false, true]);
});

test('gives a new item the place after all others', () => {
  const timeline = createTimeline<Timed>();
  const places = [1, 2, 3].map((endsAt) => append(timeline, { endsAt, isGone: false }));
  expect(places).toEqual([0, 1, 2]);
});
