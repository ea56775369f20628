import type { Contender } from '../contender.ts';
import { startServer } from '../machine/process.ts';

/** The smallest possible proxy on Node. */
export const undiciFloor = createUndiciFloor();

/** The floor with flags for Node. */
export function createUndiciFloor(flags: readonly string[] = []): Contender {
  return {
    name: 'undici-floor',
    does: 'forwards',
    missing: () => undefined,
    async start({ upstream }) {
      const server = new URL('../servers/undici-floor.ts', import.meta.url);
      const { pid, ...running } = await startServer(server, 'contender', { UPSTREAM: upstream }, flags);
      return { ...running, pids: [pid] };
    },
  };
}
