import { expect, test } from 'vitest';
import { loadOnce } from '../../src/lib/load-once.ts';

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
