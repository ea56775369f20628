import type { Contender } from '../contender.ts';

/** No server in between: the cost of the upstream and the load alone. */
export const direct: Contender = {
  name: 'direct',
  does: 'nothing in between',
  missing: () => undefined,
  start: async ({ upstream }) => ({ url: upstream, pids: [], stop: async () => {} }),
};
