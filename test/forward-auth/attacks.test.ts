import { beforeAll, describe, expect, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { envoy, nginx, question, traefik } from './ask.ts';
import { startForwardAuthWorld } from '../worlds/forward-auth.ts';
import { startBeforeAll } from '../support/start-before.ts';

let url: string;
let bearer: string;

const world = startBeforeAll(startForwardAuthWorld);
beforeAll(async () => {
  url = world.gateway.forwardAuthUrl;
  bearer = `Authorization: Bearer ${await world.token()}`;
});

const reason = async (): Promise<unknown> => (await world.gateway.decision())['reason'];
const conventions = [
  ['Traefik and Caddy', traefik],
  ['nginx', nginx],
  ['Envoy', envoy],
] as const;

describe.each(conventions)('behind %s', (_name, ask) => {
  test.each([
    '/public/../admin',
    '/public/%2E%2E%2Fadmin',
    '/public/..;/admin',
    '//admin',
    '/Admin',
    '/public#/../admin',
    'http://gateway.test/public/../admin',
  ])('decides on no other path than the exact one: %s', async (target) => {
    const { status } = await ask(url, { target, lines: [bearer] });
    expect([400, 404]).toContain(status);
  });

  test.each(['x_auth_subject: mallory', 'MCP_Name: x', 'X-HTTP-Method-Override: DELETE', 'X-Rewrite-URL: /admin'])(
    'refuses a client’s own %s, or ignores it',
    async (line) => {
      const { status } = await ask(url, { lines: [bearer, line] });
      expect({ status, reason: await reason() }).toEqual({ status: 400, reason: 'forward_auth.request' });
    },
  );

  test('is not misled by the fields of another convention', async () => {
    const other = ask === nginx ? 'X-Forwarded-Uri: /public' : 'X-Original-URI: /public';
    const method = ask === nginx ? 'X-Forwarded-Method: GET' : 'X-Original-Method: GET';
    for (const lines of [[other], [method], [other, method]]) {
      const { status } = await ask(url, { target: '/admin', lines: [bearer, ...lines] });
      expect({ status, reason: await reason() }).toEqual({ status: 400, reason: 'forward_auth.request' });
    }
  });

  test('refuses two tokens', async () => {
    expect((await ask(url, { lines: [bearer, bearer] })).status).toBe(400);
  });

  test('refuses an upgrade to h2c', async () => {
    expect((await ask(url, { lines: [bearer, 'Connection: Upgrade, close', 'Upgrade: h2c'] })).status).toBe(400);
  });

  test('refuses TRACE and CONNECT', async () => {
    expect((await ask(url, { method: 'TRACE', lines: [bearer] })).status).toBe(405);
    expect((await ask(url, { method: 'CONNECT', lines: [bearer] })).status).toBe(400);
  });
});

test.each([
  ['Traefik and Caddy', traefik],
  ['Envoy', envoy],
])(
  'behind %s a final refusal is no 200, which the proxy takes for a permission, despite tool errors',
  async (_, ask) => {
    const token = await world.token({ aud: 'http://gateway.test/mcp' });
    const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'drop_tables' } });
    const answer = await ask(url, { method: 'POST', target: '/mcp', lines, body });
    expect({ status: answer.status, reason: await reason() }).toEqual({ status: 403, reason: 'tool.unlisted' });
  },
);

// test/pipeline/listen/original-request.test.ts has the table of questions.
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
    const other = await startTestGateway({
      yaml: `forward_auth: { listen: "127.0.0.1:0", trusted: [10.0.0.0/8] }
trusted_proxies: [127.0.0.1]
routes: [{ name: public, path: /public, public: true, upstream: { url: "http://127.0.0.1:1" } }]
`,
    });
    const { status } = await question(other.forwardAuthUrl, `GET ${authorize}`, ['Host: gateway.test', ...whole]);
    expect(status).toBe(403);
    await other.decision({ reason: 'forward_auth.peer' });
    await other.close();
  });

  test('answers malformed bytes and keeps listening', async () => {
    expect((await question(url, 'GET', [])).status).toBe(400);
    expect((await traefik(url, { target: '/public' })).status).toBe(200);
  });
});
