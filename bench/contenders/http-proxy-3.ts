import type { Contender } from '../contender.ts';
import { startServer } from '../machine/process.ts';

/** A typical first choice for a proxy on Node. */
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
