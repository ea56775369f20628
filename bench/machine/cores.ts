import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The core that the contender has for itself. */
export const CONTENDER_CORE = 0;
/** Where the load, the upstream and this program are, so that they cost the contender nothing. */
export const OTHER_CORE = 1;

/** Moves this program, and with it all that it starts from now on, off the contender's core. */
export function leaveContenderCore(): void {
  if (availableParallelism() < 2) throw new Error('two cores are needed: one for the contender, one for the load');
  execFileSync('taskset', ['-a', '-p', '-c', String(OTHER_CORE), String(process.pid)], { stdio: 'ignore' });
}

/** Moves a program to the contender's core. */
export function giveContenderCore(pid: number): void {
  execFileSync('taskset', ['-a', '-p', '-c', String(CONTENDER_CORE), String(pid)], { stdio: 'ignore' });
}
