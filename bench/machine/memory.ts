import { readFileSync, writeFileSync } from 'node:fs';

/** The memory that processes hold, in KiB: what is resident. */
export function residentKiB(pids: readonly number[]): number {
  return pids.map((pid) => statusKiB(pid, 'VmRSS')).reduce((sum, each) => sum + each, 0);
}

/** The most that a process has held, since it began or since {@link forgetPeak}. */
export function peakKiB(pid: number): number {
  return statusKiB(pid, 'VmHWM');
}

/** From now on the peak is counted anew, proc_pid_clear_refs(5). */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function statusKiB(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${field}:\\s+([0-9]+)`, 'm').exec(status)?.[1]);
}
