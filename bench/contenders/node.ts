/**
 * Servers on Node: programs of `bench/servers/`.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Contender } from '../contender.ts';
import { startNode } from '../machine/process.ts';

/** The least that Node can start: one server that answers. */
export const bareServer: Contender = {
  name: 'a bare Node server',
  does: 'answers',
  start: () => startNode('bare.js', 'contender'),
};

/** The smallest possible proxy on Node. */
export const undiciFloor: Contender = {
  name: 'undici-floor',
  does: 'forwards',
  start: ({ upstream }) => startNode('undici-floor.ts', 'contender', { UPSTREAM: upstream }),
};

/** A typical first choice for a proxy on Node. */
export const httpProxy3: Contender = {
  name: 'http-proxy-3',
  does: 'forwards',
  start: ({ upstream }) => startNode('http-proxy-3.ts', 'contender', { UPSTREAM: upstream }),
};

const packages = fileURLToPath(new URL('../servers/express/node_modules', import.meta.url));

/** A typical complete solution for Node. It verifies the token of each request again. */
export const express: Contender = {
  name: 'express',
  does: 'verifies each JWT, forwards',
  missing: () =>
    existsSync(packages) ? undefined : 'run `npm install --prefix bench/servers/express --no-package-lock` first',
  start: ({ upstream, issuer, audience }) =>
    startNode('express/server.js', 'contender', {
      UPSTREAM: upstream,
      ISSUER: issuer,
      JWKS: `${issuer}/jwks`,
      AUDIENCE: audience,
      NODE_ENV: 'production',
    }),
};

/** No server in between: the cost of the upstream and the load alone. */
export const direct: Contender = {
  name: 'direct',
  does: 'nothing in between',
  start: async ({ upstream }) => ({ url: upstream, pids: [], stop: async () => {} }),
};
