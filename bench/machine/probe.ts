/**
 * Runs inside the gateway's process (`--import`). On a message, it reports the heap after a full garbage collection and
 * the number of timers, including those that do not keep the process alive. Only the engine knows these.
 *
 * @module
 */
import { queryObjects } from 'node:v8';

/** The state after a full garbage collection. */
export interface Alive {
  readonly heapBytes: number;
  readonly timers: number;
}

const first = setTimeout(() => {}, 0);
// Node does not export this class.
const timeout = first.constructor as new () => NodeJS.Timeout;

process.on('message', () => {
  // `queryObjects` collects garbage first.
  const timers = queryObjects(timeout, { format: 'count' });
  const alive: Alive = { heapBytes: process.memoryUsage().heapUsed, timers };
  process.send?.(alive);
});
// The parent has ended and cannot stop the gateway.
process.on('disconnect', () => process.exit());
process.channel?.unref();
