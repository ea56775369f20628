import { expect, test } from 'vitest';
import { forThisTest } from '../../support/start-before.ts';
import { startWorld } from '../../worlds/gateway.ts';

/** A query is part of an endpoint, RFC 6749 §3.2, and may be what the server knows us by. */
const SECRET = 'a-key-in-a-query';

test.each([
  ['is not there', undefined],
  ['answers 500', 500],
  ['answers 401', 401],
  ['answers with something else', 200],
])('the query of an endpoint that %s is neither logged nor shown', async (_what, status) => {
  const base = status === undefined ? 'http://127.0.0.1:1' : 'ISSUER';
  const world = await forThisTest(
    startWorld({
      server: `jwt: { algorithms: [RS256], jwks: "${base}/jwks?\${env:KEY}" }, introspection: { client_id: g, client_secret: s, endpoint: "${base}/introspect?\${env:KEY}" }`,
      routes: ['name: api, path: /api, audience: a, upstream: { url: "UPSTREAM" }'],
      env: () => ({ KEY: SECRET }),
    }),
  );
  world.issuer.intercept = (request, response) => {
    if (request.url?.includes(SECRET) !== true) return false;
    response.writeHead(status ?? 500, { 'content-type': 'application/json' }).end('[]');
    return true;
  };
  const { gateway } = world;
  for (const token of [await world.token(), 'opaque']) expect((await world.send('/api', { token })).status).toBe(503);
  expect(JSON.stringify([await gateway.lines(), await gateway.ready()])).not.toContain(SECRET);
  expect(JSON.stringify(await gateway.decisions(2))).toContain('?…');
});
