import { expect, test } from 'vitest';
import { createSingleFlight, loadOnce } from '../../src/lib/single-flight.ts';

test('calls during the work share one outcome; a later call starts the work again', async () => {
  const flight = createSingleFlight<number>();
  let runs = 0;
  const work = (): Promise<number> => Promise.resolve((runs += 1));
  expect(await Promise.all([flight('a', work), flight('a', work), flight('b', work)])).toEqual([1, 1, 2]);
  expect(await flight('a', work)).toBe(3);
});

const fail = (): Promise<number> => Promise.reject(new Error('down'));

test('callers share a failure too, which is not kept', async () => {
  const flight = createSingleFlight<number>();
  const outcomes = await Promise.allSettled([flight('a', fail), flight('a', () => Promise.resolve(1))]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await flight('a', () => Promise.resolve(2))).toBe(2);
});

test('loads once for all that wait, and again after a failure', async () => {
  let loads = 0;
  let isBroken = true;
  const load = loadOnce(async () => {
    loads += 1;
    await Promise.resolve();
    if (isBroken) throw new Error('EMFILE');
    return loads;
  });
  const first = [load(), load()];
  await expect(first[0]).rejects.toThrow('EMFILE');
  await expect(first[1]).rejects.toThrow('EMFILE');
  expect(loads).toBe(1);
  isBroken = false;
  expect(await Promise.all([load(), load()])).toEqual([2, 2]);
  expect(await load()).toBe(2);
});
