import type { Contender } from '../contender.ts';

/** Nobody in between: what the upstream and the load themselves take. */
export const direct: Contender = {
  name: 'direct',
  does: 'nothing in between',
  missing: () => undefined,
  start: async ({ upstream }) => ({ url: upstream, pids: [], stop: async () => {} }),
};
