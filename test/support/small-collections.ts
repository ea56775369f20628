import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * The bytes that remain of `make`, called `times` times, after small garbage collections alone. Whatever needs a full
 * collection makes the process grow between two of them.
 */
export function bytesAfterSmallCollections(times: number, make: () => void): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void;
  const collectSmall = (): void => {
    for (let round = 0; round < 3; round += 1) collect({ type: 'minor' });
  };
  collectSmall();
  const before = getHeapStatistics().used_heap_size;
  for (let made = 0; made < times; made += 1) {
    make();
    // A request in flight survives one collection.
    if (made % 100 === 0) collect({ type: 'minor' });
  }
  collectSmall();
  return getHeapStatistics().used_heap_size - before;
}
