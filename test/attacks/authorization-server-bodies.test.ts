import { expect, onTestFinished, test } from 'vitest';
import { type Fault, startFaultServer } from '../support/fault-server.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startUpstream } from '../support/upstream.ts';

const server = startBeforeAll(startFaultServer);
const upstream = startBeforeAll(startUpstream);

// test/tokens/servers/fetch-json.test.ts has every answer that is none.
test.each<Fault>(['endless body', 'gzip bomb', 'redirect', 'an error'])(
  'answers 503 to %s from an authorization server, and discloses none of it',
  async (fault) => {
    const before = process.memoryUsage().rss;
    server.fault('all', fault);
    const gateway = await startTestGateway({
      yaml: `
authorization_servers:
  main:
    issuer: ${server.url}
    jwt: { algorithms: [RS256], jwks: "${server.url}/jwks" }
    introspection: { client_id: gateway, client_secret: s3cr3t-of-the-gateway, endpoint: "${server.url}/introspect" }
    timeout: 300ms
routes:
  - { name: api, path: /api, audience: a, upstream: { url: "${upstream.url}" } }
`,
    });
    onTestFinished(() => gateway.close());
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
  },
);
