import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { obtainToken, registerClient, type OAuthClient } from '../../../demo/obtain-token.ts';
import { apiAudience, mcpResource, post, start } from '../../demo/authorization-server-requests.ts';
import { startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';
import { startBeforeAll } from '../../support/start-before.ts';

let upstream: Upstream;
let agent: OAuthClient;
const server = startBeforeAll(start);
beforeAll(async () => {
  agent = await registerClient(server.issuer);
  upstream = await startUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
});
afterAll(async () => {
  await upstream.close();
});

function gatewayWith(exchange: string, more = ''): Promise<TestGateway> {
  return startTestGateway({
    yaml: `
authorization_servers:
  main: { issuer: "${server.issuer}", introspection: { client_id: gateway, client_secret: gateway-secret, cache: 60s } }
routes:
  - name: api
    path: /
    audience: ${mcpResource}
    upstream: { url: ${upstream.url}, token: exchange, exchange: { ${exchange} } }
${more}`,
  });
}

async function tokenOf(user: string, scope = 'read'): Promise<string> {
  return (await obtainToken({ issuer: server.issuer, client: agent, user, scope })).accessToken;
}

function send(gateway: TestGateway, token: string, path = '/'): Promise<Response> {
  return fetch(gateway.url + path, { headers: { authorization: `Bearer ${token}` } });
}

/** How often the authorization server was asked, by operation. */
async function asked(gateway: TestGateway, operation: string): Promise<number> {
  const pattern = new RegExp(`requests_total\\{server="main",operation="${operation}",result="ok"\\} (\\d+)`);
  return Number(pattern.exec(await gateway.metrics())?.[1] ?? 0);
}

// test/attacks/exchange-cache.test.ts has many callers at once.
describe('with a real authorization server', () => {
  test('the upstream sees the user as the subject, the gateway as the actor and the API as the audience', async () => {
    const gateway = await gatewayWith(`audience: "${apiAudience}", scope: [read], actor: client_credentials`);
    expect((await send(gateway, await tokenOf('alice'))).status).toBe(200);
    const jwt = upstream.seen.at(-1)?.headers.authorization?.replace(/^Bearer /, '') ?? '';
    expect(decodeJwt(jwt)).toMatchObject({ sub: 'alice', act: { sub: 'gateway' }, aud: apiAudience, scope: 'read' });
    expect([await asked(gateway, 'client_credentials'), await asked(gateway, 'exchange')]).toEqual([1, 1]);
    await gateway.close();
  });

  test('a token that was revoked while it was cached gets 401, and leaves the cache', async () => {
    const plain = `  - { name: plain, path: /plain, audience: "${mcpResource}", upstream: { url: "${upstream.url}" } }\n`;
    const gateway = await gatewayWith(`audience: "${apiAudience}"`, plain);
    const token = await tokenOf('alice');
    expect((await send(gateway, token, '/plain')).status).toBe(200);
    await post(server.issuer, 'oauth-revoke', {
      token,
      client_id: agent.clientId,
      client_secret: agent.clientSecret ?? '',
    });
    expect((await send(gateway, token, '/plain')).status).toBe(200);
    // It answers `invalid_request`, as RFC 8693 §2.2.2 wants.
    expect((await send(gateway, token)).status).toBe(401);
    expect(await gateway.decision()).toMatchObject({
      reason: 'token.inactive',
      detail: expect.stringContaining('400 invalid_request'),
    });
    expect((await send(gateway, token, '/plain')).status).toBe(401);
    await gateway.close();
  });
});

describe('with a scripted authorization server', () => {
  let gateway: TestGateway;
  let passedMs = 0;
  const issuer = startBeforeAll(startIssuer);
  beforeAll(async () => {
    let made = 0;
    issuer.intercept = (request, response) => {
      if (request.url !== '/token') return false;
      const type = 'urn:ietf:params:oauth:token-type:access_token';
      const token = {
        access_token: `made-${(made += 1)}`,
        issued_token_type: type,
        token_type: 'Bearer',
        expires_in: 600,
      };
      response.end(JSON.stringify(token));
      return true;
    };
    const exchange = `token: exchange, exchange: { client_id: g, client_secret: s }`;
    gateway = await startTestGateway({
      yaml: `
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: api, path: /, audience: a, upstream: { url: ${upstream.url}, ${exchange} } }
  - { name: mcp, path: /mcp, protocol: mcp, audience: a, upstream: { url: ${upstream.url}, ${exchange} } }
`,
      clock: () => Date.now() + passedMs,
    });
  });
  afterAll(async () => {
    await gateway.close();
  });

  test.each([
    ['http', '/', 401],
    ['mcp', '/mcp', 502],
  ])(
    'an %s upstream that answers 401: the next call gets a new credential, at a limited rate',
    async (_, path, status) => {
      const handlers = upstream.server.listeners('request');
      const token = await issuer.sign({ aud: 'a', sub: randomUUID() });
      const call = async (): Promise<string | undefined> => {
        const response = await fetch(gateway.url + path, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        });
        expect(response.status).toBe(status);
        await response.text();
        return upstream.seen.at(-1)?.headers.authorization;
      };
      upstream.server.removeAllListeners('request');
      upstream.server.on('request', (request, response) => {
        const { method = '', url = '', headers, rawHeaders } = request;
        upstream.seen.push({ method, url, headers, rawHeaders, body: '' });
        request.resume();
        response.writeHead(401).end();
      });
      const first = await call();
      expect(await call()).toBe(first);
      passedMs += 5_000;
      // This one's refusal is old enough to count.
      expect(await call()).toBe(first);
      const renewed = await call();
      expect(renewed).not.toBe(first);
      expect(await call()).toBe(renewed);
      upstream.server.removeAllListeners('request');
      for (const handler of handlers) upstream.server.on('request', handler as () => void);
    },
  );
});
