import { availableParallelism } from 'node:os';
import type { Processes } from '../serve/config/several-processes.ts';
import { UsageError } from '../capabilities/terminal.ts';

/**
 * The processes that the options `--workers` and `--without-front-door` ask for.
 *
 * @throws {UsageError} for `workers` that are neither a number from 1 to 999 nor `auto`.
 */
export function processesOf(options: { readonly workers: string; readonly 'without-front-door': boolean }): Processes {
  return { workers: workersOf(options.workers), withoutFrontDoor: options['without-front-door'] };
}

function workersOf(text: string): number {
  if (text === 'auto') return availableParallelism();
  if (/^[1-9][0-9]{0,2}$/.test(text)) return Number(text);
  throw new UsageError(`--workers: ${JSON.stringify(text)} is neither a number of processes nor auto`);
}
