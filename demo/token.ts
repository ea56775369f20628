/**
 * Prints an access token of the demo's authorization server for the MCP server. It gets the token like an AI agent: it
 * registers a client, and a user signs in and consents. For `curl`, and for the tutorial.
 *
 * @module
 */
import { parseArgs } from 'node:util';

import { obtainToken, registerClient } from './obtain-token.ts';

const usage = `node demo/token.ts [--user NAME] [SCOPE…]

  --user NAME   who signs in: alice (the default), bob, carol, dave or erin
  SCOPE         default: read

The environment variable ISSUER is the authorization server; default: http://127.0.0.1:9000`;

/** A token for a new client of the given user. */
async function newToken(user: string, scope: string): Promise<string> {
  const issuer = process.env.ISSUER ?? 'http://127.0.0.1:9000';
  const client = await registerClient(issuer, 'curl', scope);
  const { accessToken } = await obtainToken({ issuer, client, scope, user });
  return accessToken;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { user: { type: 'string', default: 'alice' }, help: { type: 'boolean' } },
});
try {
  console.log(values.help ? usage : await newToken(values.user, positionals.join(' ') || 'read'));
} catch (error) {
  // `fetch` has the reason in its cause: a server that is not started is no bug.
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) throw error;
  console.error(`The authorization server cannot be reached: ${error.cause.message}`);
  process.exitCode = 1;
}
