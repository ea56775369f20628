import { beforeAll, describe, expect, test } from 'vitest';
import { envoy, nginx, question, traefik } from './ask.ts';
import { startForwardAuthWorld } from '../worlds/forward-auth.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';

let url: string;
let bearer: string;

const world = startBeforeAll(startForwardAuthWorld);
beforeAll(async () => {
  url = world.gateway.forwardAuthUrl;
  bearer = `Authorization: Bearer ${await world.token()}`;
});

const reason = async (): Promise<unknown> => (await world.gateway.decision())['reason'];

// test/pipeline/listen/original-request.test.ts has the table of questions, test/pipeline/route/target.test.ts that of paths.
test.each(['x_auth_subject: mallory', 'MCP_Name: x', 'X-HTTP-Method-Override: DELETE', 'X-Rewrite-URL: /admin'])(
  'a client’s own %s is refused, because the proxy would forward it',
  async (line) => {
    const { status } = await nginx(url, { lines: [bearer, line] });
    expect({ status, reason: await reason() }).toEqual({ status: 400, reason: 'forward_auth.request' });
  },
);

test.each([
  ['an upgrade to h2c', 400, { lines: ['Connection: Upgrade, close', 'Upgrade: h2c'] }],
  ['TRACE', 405, { method: 'TRACE' }],
  ['CONNECT', 400, { method: 'CONNECT' }],
])('%s is refused: %i', async (_what, status, { lines = [], ...asked }: { lines?: string[]; method?: string }) => {
  for (const ask of [traefik, nginx, envoy])
    expect((await ask(url, { ...asked, lines: [bearer, ...lines] })).status).toBe(status);
});

test('a final refusal is no 200, which the proxy takes for a permission, despite tool errors', async () => {
  const token = await world.token({ aud: 'http://gateway.test/mcp' });
  const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'drop_tables' } });
  for (const ask of [traefik, envoy]) {
    const { status } = await ask(url, { method: 'POST', target: '/mcp', lines, body });
    expect({ status, reason: await reason() }).toEqual({ status: 403, reason: 'tool.unlisted' });
  }
});

describe('a question', () => {
  const authorize = '/_sallyport/authorize';
  const whole = ['X-Forwarded-Method: GET', 'X-Forwarded-Uri: /public', 'X-Forwarded-Host: gateway.test'];

  test('is refused from Envoy without its method or path', async () => {
    expect((await question(url, `GET ${authorize}/../public`, ['Host: gateway.test'])).status).toBe(400);
    expect((await question(url, `GET ${authorize}//public`, ['Host: gateway.test'])).status).toBe(400);
    expect((await question(url, `GET ${authorize}/public`, ['Host: gateway.test'])).status).toBe(200);
  });

  test('is not answered at the public listener', async () => {
    const { status } = await question(world.gateway.url, `GET ${authorize}`, ['Host: gateway.test', ...whole]);
    expect(status).toBe(401);
  });

  test('is refused from a peer that may not ask', async () => {
    const forwardAuth = ', trusted: [10.0.0.0/8]';
    const { gateway: other } = await forThisTest(
      startForwardAuthWorld({ forwardAuth, yaml: 'trusted_proxies: [127.0.0.1]' }),
    );
    const { status } = await question(other.forwardAuthUrl, `GET ${authorize}`, ['Host: gateway.test', ...whole]);
    expect(status).toBe(403);
    await other.decision({ reason: 'forward_auth.peer' });
  });

  test('answers malformed bytes and keeps listening', async () => {
    expect((await question(url, 'GET', [])).status).toBe(400);
    expect((await traefik(url, { target: '/public' })).status).toBe(200);
  });
});
