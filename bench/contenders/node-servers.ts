import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Contender } from '../contender.ts';
import { startServer } from '../machine/process.ts';

/** A contender that is a program of `bench/servers/`. */
function nodeServer(name: string, does: string, program: URL, missing: Contender['missing'] = () => undefined) {
  return {
    name,
    does,
    missing,
    async start({ upstream, issuer, audience }) {
      const { pid, ...running } = await startServer(program, 'contender', {
        UPSTREAM: upstream,
        ISSUER: issuer,
        JWKS: `${issuer}/jwks`,
        AUDIENCE: audience,
        NODE_ENV: 'production',
      });
      return { ...running, pids: [pid] };
    },
  } satisfies Contender;
}

/** The least that Node can start: one server that answers. */
export const bareServer = nodeServer('a bare Node server', 'answers', new URL('../servers/bare.ts', import.meta.url));

/** The smallest possible proxy on Node. */
export const undiciFloor = nodeServer(
  'undici-floor',
  'forwards',
  new URL('../servers/undici-floor.ts', import.meta.url),
);

/** A typical first choice for a proxy on Node. */
export const httpProxy3 = nodeServer(
  'http-proxy-3',
  'forwards',
  new URL('../servers/http-proxy-3.ts', import.meta.url),
);

/** A typical complete solution for Node. It verifies the token of each request again. */
export const express = nodeServer(
  'express',
  'verifies each JWT, forwards',
  new URL('../servers/express/server.js', import.meta.url),
  () =>
    existsSync(fileURLToPath(new URL('../servers/express/node_modules', import.meta.url)))
      ? undefined
      : 'run `npm install --prefix bench/servers/express --no-package-lock` first',
);

/** No server in between: the cost of the upstream and the load alone. */
export const direct: Contender = {
  name: 'direct',
  does: 'nothing in between',
  missing: () => undefined,
  start: async ({ upstream }) => ({ url: upstream, pids: [], stop: async () => {} }),
};
