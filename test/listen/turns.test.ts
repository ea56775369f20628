import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns, type Turns } from '../../src/listen/turns.ts';

/** Uses up what may begin at once. */
function exhaust(turns: Turns): void {
  while (turns.begin());
}

test('one after the other begins at once', async () => {
  const turns = createTurns();
  for (let index = 0; index < 20; index += 1) {
    expect(turns.begin()).toBe(true);
    const until = performance.now() + 2;
    while (performance.now() < until);
  }
});

test('of many at once few begin, and the rest in the turns after, in order', async () => {
  const few = 3;
  const turns = createTurns(few);
  exhaust(turns);
  const begun: number[] = [];
  for (let index = 0; index < 2 * few + 1; index += 1) turns.wait('192.0.2.1', () => begun.push(index));
  expect(begun).toEqual([]);
  await setImmediate();
  expect(begun).toHaveLength(few);
  await setImmediate();
  expect(begun).toHaveLength(2 * few);
  expect(turns.begin()).toBe(false);
  await setImmediate();
  expect(begun).toEqual(Array.from({ length: 2 * few + 1 }, (_, index) => index));
  expect(turns.begin()).toBe(true);
});

test('who comes with one does not wait for who came with a hundred', async () => {
  const turns = createTurns();
  exhaust(turns);
  const begun: string[] = [];
  for (let index = 0; index < 100; index += 1) turns.wait('192.0.2.1', () => begun.push('many'));
  turns.wait('192.0.2.2', () => begun.push('one'));
  await setImmediate();
  expect(begun.slice(0, 2)).toEqual(['many', 'one']);
  while (begun.length < 101) await setImmediate();
});

test('an IPv6 network counts as one', async () => {
  const turns = createTurns();
  exhaust(turns);
  const begun: string[] = [];
  for (let index = 1; index <= 100; index += 1) turns.wait(`2001:db8::${index}`, () => begun.push('many'));
  turns.wait('2001:db8:0:1::1', () => begun.push('one'));
  await setImmediate();
  expect(begun.slice(0, 2)).toEqual(['many', 'one']);
  while (begun.length < 101) await setImmediate();
});
