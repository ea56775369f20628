import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The core that is reserved for the contender. */
export const CONTENDER_CORE = 0;
/** The core of the load, the upstream and this program, which must not slow the contender. */
export const OTHER_CORE = 1;

/** Moves this program off the contender's core. Programs that it starts later follow it. */
export function leaveContenderCore(): void {
  if (availableParallelism() < 2)
    throw new Error('the benchmark needs two cores: one for the contender, one for the load');
  execFileSync('taskset', ['-a', '-p', '-c', String(OTHER_CORE), String(process.pid)], { stdio: 'ignore' });
}
