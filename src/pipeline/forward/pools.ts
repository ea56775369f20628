import Pool from 'undici/lib/dispatcher/pool.js';
import type { Upstream } from '../../model/route.ts';

/** The connections to the upstreams. They outlive a configuration, so that a reload closes none. */
export interface Pools {
  /** The pool for an origin and a connect timeout. */
  to(upstream: Upstream): Pool;
  close(): Promise<void>;
}

/** An upstream's header section may be larger than a client's: cookies, policies. */
const MAX_RESPONSE_HEADER_BYTES = 64 * 1024;

/** Creates an empty set of pools. */
export function createPools(): Pools {
  const pools = new Map<string, Pool>();
  return {
    to({ origin, connectTimeoutMs }) {
      const key = `${origin} ${connectTimeoutMs}`;
      const known = pools.get(key);
      if (known !== undefined) return known;
      const pool = new Pool(origin, {
        // A stream occupies its connection: with a limit, quiet streams would starve other calls.
        connections: null,
        pipelining: 1,
        allowH2: false,
        // Quiet event streams live longer than undici's 300 s. They end with their token or their client.
        bodyTimeout: 0,
        maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
        connect: { timeout: connectTimeoutMs },
      });
      pools.set(key, pool);
      return pool;
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}
