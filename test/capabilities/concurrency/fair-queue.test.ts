import { expect, test } from 'vitest';
import { FairQueue } from '../../../src/capabilities/concurrency/fair-queue.ts';

test('owners are served in turn, and the items of one in their order', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add(item.charAt(0), item);
  queue.remove('a', 'a2');
  queue.remove('a', 'none');
  queue.remove('d', 'd1');
  expect(queue.size).toBe(5);
  expect(Array.from({ length: 6 }, () => queue.take())).toEqual(['a1', 'b1', 'c1', 'a3', 'b2', undefined]);
  expect(queue.size).toBe(0);
  // An owner whose items were all removed has no turn.
  queue.add('a', 'a1');
  queue.remove('a', 'a1');
  expect([queue.size, queue.take()]).toEqual([0, undefined]);
});
