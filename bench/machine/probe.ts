/**
 * Loaded into the gateway's process beside the gateway itself (`--import`): says, when it is asked, what garbage collection
 * leaves and how many timers there are, those too that keep no process alive. Only the engine knows.
 *
 * @module
 */
import { queryObjects } from 'node:v8';

/** What is alive after a full garbage collection. */
export interface Alive {
  readonly heapBytes: number;
  readonly timers: number;
}

const first = setTimeout(() => {}, 0);
// Its class has no name that can be imported.
const timeout = first.constructor as new () => NodeJS.Timeout;

process.on('message', () => {
  // Collects first.
  const timers = queryObjects(timeout, { format: 'count' });
  const alive: Alive = { heapBytes: process.memoryUsage().heapUsed, timers };
  process.send?.(alive);
});
// Nobody is left to stop it.
process.on('disconnect', () => process.exit());
process.channel?.unref();
