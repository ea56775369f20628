import { readFileSync } from 'node:fs';

const TICK_MS = 10;

/** The time that the host has taken from this machine's cores since its start, in ms (proc_stat(5), `steal`). */
export function stolenMs(): number {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/ +/) ?? [];
  return Number(ticks[7]) * TICK_MS;
}
