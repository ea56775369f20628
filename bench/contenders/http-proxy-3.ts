import type { Contender } from '../contender.ts';
import { startServer } from '../machine/process.ts';

/** The library that a Node user would begin with. */
export const httpProxy3: Contender = {
  name: 'http-proxy-3',
  does: 'forwards',
  missing: () => undefined,
  async start({ upstream }) {
    const { pid, ...server } = await startServer(new URL('../servers/http-proxy-3.ts', import.meta.url), 'contender', {
      UPSTREAM: upstream,
    });
    return { ...server, pids: [pid] };
  },
};
