import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Contender } from '../contender.ts';
import { startServer } from '../machine/process.ts';

const folder = new URL('../servers/express/', import.meta.url);
const program = new URL('server.js', folder);
const packages = fileURLToPath(new URL('node_modules', folder));

/** A typical complete solution for Node. It verifies the token of each request again. */
export const express: Contender = {
  name: 'express',
  does: 'verifies each JWT, forwards',
  missing: () =>
    existsSync(packages) ? undefined : 'run `npm install --prefix bench/servers/express --no-package-lock` first',
  async start({ upstream, issuer, audience }) {
    const { pid, ...server } = await startServer(program, 'contender', {
      UPSTREAM: upstream,
      ISSUER: issuer,
      JWKS: `${issuer}/jwks`,
      AUDIENCE: audience,
      NODE_ENV: 'production',
    });
    return { ...server, pids: [pid] };
  },
};
