import { afterEach, expect, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';

let issuer: Issuer | undefined;
afterEach(async () => issuer?.close());

/** A query is part of an endpoint, RFC 6749 §3.2, and may be what the server knows us by. */
const SECRET = 'a-key-in-a-query';

test.each([
  ['is not there', undefined],
  ['answers 500', 500],
  ['answers 401', 401],
  ['answers with something else', 200],
])('the query of an endpoint that %s is neither logged nor shown', async (_what, status) => {
  const served = (issuer = await startIssuer());
  served.intercept = (request, response) => {
    if (request.url?.includes(SECRET) !== true) return false;
    response.writeHead(status ?? 500, { 'content-type': 'application/json' }).end('[]');
    return true;
  };
  const base = status === undefined ? 'http://127.0.0.1:1' : served.url;
  const gateway = await startTestGateway({
    yaml: `
authorization_servers:
  main:
    issuer: ${served.url}
    jwt: { algorithms: [RS256], jwks: "${base}/jwks?\${env:KEY}" }
    introspection: { client_id: g, client_secret: s, endpoint: "${base}/introspect?\${env:KEY}" }
routes:
  - { name: api, path: /api, audience: r, upstream: { url: "http://127.0.0.1:1" } }
`,
    env: { KEY: SECRET },
  });
  for (const token of [await served.sign({ aud: 'r' }), 'opaque']) {
    const { status: answered } = await fetch(`${gateway.url}/api`, { headers: { authorization: `Bearer ${token}` } });
    expect(answered).toBe(503);
  }
  const ready = await (await fetch(`${gateway.adminUrl}/readyz`)).text();
  expect(JSON.stringify(await gateway.lines()) + ready).not.toContain(SECRET);
  expect(JSON.stringify(await gateway.decisions(2))).toContain('?…');
  await gateway.close();
});
