import { readFileSync } from 'node:fs';

/** The resident memory of processes, in KiB. */
export function residentKiB(pids: readonly number[]): number {
  return pids.map((pid) => statusKiB(pid, 'VmRSS')).reduce((sum, each) => sum + each, 0);
}

/** The peak of a process's resident memory, in KiB, since its start or since {@link forgetPeak}. */
export function peakKiB(pid: number): number {
  return statusKiB(pid, 'VmHWM');
}

function statusKiB(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${field}:\\s+([0-9]+)`, 'm').exec(status)?.[1]);
}
