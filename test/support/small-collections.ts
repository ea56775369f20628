import { setImmediate } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options?: { readonly type: 'minor' }) => void;

/** V8's garbage collector: a full collection by default. */
export function garbageCollector(): Collect {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as Collect;
}

/** Whether a full collection frees the object that `make` returns and keeps nowhere itself. */
export async function isFreed(make: () => object): Promise<boolean> {
  const made = new WeakRef(make());
  // A `WeakRef` keeps its object until the turn ends.
  await setImmediate();
  garbageCollector()();
  return made.deref() === undefined;
}

/**
 * The bytes that remain of `make`, called `times` times, after small garbage collections alone. Whatever needs a full
 * collection makes the process grow between two of them.
 */
export function bytesAfterSmallCollections(times: number, make: () => void): number {
  const collect = garbageCollector();
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
