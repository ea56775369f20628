/**
 * Servers on Node: programs of `bench/servers/`.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Contender, Surroundings } from '../contender.ts';
import { startServer } from '../machine/process.ts';

function nodeContender(
  { name, does, program }: { readonly name: string; readonly does: string; readonly program: URL },
  environment: (surroundings: Surroundings) => Readonly<Record<string, string>>,
): Contender {
  return {
    name,
    does,
    missing: () => undefined,
    async start(surroundings) {
      const { pid, ...server } = await startServer(program, 'contender', environment(surroundings));
      return { ...server, pids: [pid] };
    },
  };
}

/** The least that Node can start: one server that answers. */
export const bareServer = nodeContender(
  { name: 'a bare Node server', does: 'answers', program: new URL('../servers/bare.js', import.meta.url) },
  () => ({}),
);

/** The smallest possible proxy on Node. */
export const undiciFloor = nodeContender(
  { name: 'undici-floor', does: 'forwards', program: new URL('../servers/undici-floor.ts', import.meta.url) },
  ({ upstream }) => ({ UPSTREAM: upstream }),
);

/** A typical first choice for a proxy on Node. */
export const httpProxy3 = nodeContender(
  { name: 'http-proxy-3', does: 'forwards', program: new URL('../servers/http-proxy-3.ts', import.meta.url) },
  ({ upstream }) => ({ UPSTREAM: upstream }),
);

const packages = fileURLToPath(new URL('../servers/express/node_modules', import.meta.url));

/** A typical complete solution for Node. It verifies the token of each request again. */
export const express: Contender = {
  ...nodeContender(
    {
      name: 'express',
      does: 'verifies each JWT, forwards',
      program: new URL('../servers/express/server.js', import.meta.url),
    },
    ({ upstream, issuer, audience }) => ({
      UPSTREAM: upstream,
      ISSUER: issuer,
      JWKS: `${issuer}/jwks`,
      AUDIENCE: audience,
      NODE_ENV: 'production',
    }),
  ),
  missing: () =>
    existsSync(packages) ? undefined : 'run `npm install --prefix bench/servers/express --no-package-lock` first',
};

/** No server in between: the cost of the upstream and the load alone. */
export const direct: Contender = {
  name: 'direct',
  does: 'nothing in between',
  missing: () => undefined,
  start: async ({ upstream }) => ({ url: upstream, pids: [], stop: async () => {} }),
};
