import { readdirSync, readFileSync } from 'node:fs';

/**
 * The CPU time that processes have used so far, user and system, in microseconds. From `schedstat` of each thread: what
 * `stat` has in ticks of 10 ms, in nanoseconds.
 */
export function cpuMicroseconds(pids: readonly number[]): number {
  let nanoseconds = 0;
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
    }
  }
  return nanoseconds / 1000;
}
