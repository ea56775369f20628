import type { Contender } from '../contender.ts';
import { startServer } from '../machine/process.ts';

/** The smallest possible proxy on Node. */
export const undiciFloor: Contender = {
  name: 'undici-floor',
  does: 'forwards',
  missing: () => undefined,
  async start({ upstream }) {
    const { pid, ...server } = await startServer(new URL('../servers/undici-floor.ts', import.meta.url), 'contender', {
      UPSTREAM: upstream,
    });
    return { ...server, pids: [pid] };
  },
};
