import { readdirSync, readFileSync } from 'node:fs';

/**
 * The CPU time of processes since their start, user and system, in microseconds. Read from `schedstat` of each thread,
 * which counts nanoseconds; `stat` counts ticks of 10 ms.
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
