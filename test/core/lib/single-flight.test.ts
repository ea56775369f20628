import { expect, test } from 'vitest';
import { createSingleFlight, loadHourly, loadOnce } from '../../../src/core/lib/single-flight.ts';

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

test('a result counts for an hour, and not before it was loaded: the clock may be set back', async () => {
  let now = 10_000;
  let loads = 0;
  const load = loadHourly(
    () => Promise.resolve((loads += 1)),
    () => now,
  );
  const results: number[] = [];
  for (const at of [10_000, 3_609_999, 3_610_000, 10_000]) {
    now = at;
    results.push(await load());
  }
  expect(results).toEqual([1, 1, 2, 3]);
});

test('a load that fails late does not drop the result of the next one', async () => {
  const [slow, next] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const loads = [slow.promise, next.promise];
  let now = 0;
  const load = loadHourly(
    () => loads.shift() as Promise<string>,
    () => now,
  );
  const first = load();
  now = 3_600_000;
  const second = load();
  slow.reject(new Error('down'));
  next.resolve('metadata');
  await expect(first).rejects.toThrow('down');
  expect([await second, await load()]).toEqual(['metadata', 'metadata']);
});
