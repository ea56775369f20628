import { afterEach, expect, test } from 'vitest';
import { startFaultServer, type Fault, type FaultServer } from '../support/fault-server.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let server: FaultServer;
let upstream: Upstream;
let gateway: TestGateway;

afterEach(async () => {
  await gateway.close();
  await Promise.all([server.close(), upstream.close()]);
});

test.each<Fault>([
  'endless body',
  'endless promises',
  'gzip bomb',
  'deep JSON',
  'huge header',
  'many headers',
  'redirect',
  'another protocol',
  'two lengths',
  'a page',
  'an error',
])('answers 503 to %s from an authorization server, and discloses none of it', async (fault) => {
  [server, upstream] = await Promise.all([startFaultServer(), startUpstream()]);
  const before = process.memoryUsage().rss;
  server.fault('all', fault);
  gateway = await startTestGateway({
    yaml: `
authorization_servers:
  main:
    issuer: ${server.url}
    jwt: { algorithms: [RS256], jwks: "${server.url}/jwks" }
    introspection: { client_id: gateway, client_secret: s3cr3t-of-the-gateway, endpoint: "${server.url}/introspect" }
    timeout: 900ms
routes:
  - { name: api, path: /api, audience: a, upstream: { url: "${upstream.url}" } }
`,
  });
  const tokens = [server.opaque(), await server.issuer.sign({ aud: 'a' })];
  for (const token of tokens) {
    const answer = await fetch(`${gateway.url}/api`, { headers: { authorization: `Bearer ${token}` } });
    const text = await answer.text();
    expect(answer.status, text).toBe(503);
    expect(text).toContain('authorization_server.unavailable');
    for (const secret of [token, '169.254.169.254', 'boom', 's3cr3t-of-the-gateway'])
      expect(text).not.toContain(secret);
  }
  expect(upstream.seen).toEqual([]);
  const log = JSON.stringify(await gateway.lines());
  for (const secret of [...tokens, 's3cr3t-of-the-gateway', 'boom']) expect(log).not.toContain(secret);
  expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
});
