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

/**
 * The CPU time of processes since their start, in their own code and in the kernel: `utime` and `stime` of proc_pid_stat(5), in
 * ticks of 10 ms.
 */
export function kernelTicks(pids: readonly number[]): { readonly user: number; readonly kernel: number } {
  const ticks = { user: 0, kernel: 0 };
  for (const pid of pids) {
    // The name of the process, in parentheses, may hold spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    ticks.user += Number(fields[11]);
    ticks.kernel += Number(fields[12]);
  }
  return ticks;
}
