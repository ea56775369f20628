import type { Contender } from '../contender.ts';
import { startServer } from '../machine/process.ts';

/** The smallest possible proxy on Node. */
export const undiciFloor: Contender = {
  name: 'undici-floor',
  does: 'forwards',
  missing: () => undefined,
  async start({ upstream }) {
    const server = new URL('../servers/undici-floor.ts', import.meta.url);
    const { pid, ...running } = await startServer(server, 'contender', { UPSTREAM: upstream });
    return { ...running, pids: [pid] };
  },
};
