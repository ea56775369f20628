import { expect, test } from 'vitest';
import { bodyOf, get } from './requests.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { lastHead } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';

const world = startBeforeAll(() =>
  startAttackWorld({
    routes: [
      'name: legacy, path: /legacy, protocol: mcp, audience: https://api.example, authorization_servers: [main], policy: tools, below: pass, query: pass, upstream: { url: UPSTREAM/old }',
    ],
    answer: (_request, response) => sendJson(response, 200, { jsonrpc: '2.0', id: 1, result: { text: UPSTREAM_TEXT } }),
  }),
);

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const posted = (target: string, authorization?: string): string => {
  const own = authorization === undefined ? [] : [authorization];
  const about = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(ping)}`];
  return lastHead(`POST ${target}`, ...own, ...about) + ping;
};

const below = ['/mcp/admin/shutdown', '/mcp/admin/shutdown?confirm=yes', '/mcp/'];

test.each(below)('R-107: refuses a harmless message at %s, and asks no caller for a token', async (target) => {
  for (const authorization of [world.authorization, undefined]) {
    const { answers } = await world.refuses(posted(target, authorization), 404, 'route.unknown');
    expect(bodyOf(answers[0])).toMatchObject({ error: { code: 404, data: { reason: 'route.unknown' } } });
    expect(answers[0]).not.toMatch(/^www-authenticate:/im);
  }
  await world.refuses(get(target, await world.token()), 404, 'route.unknown');
});

test('R-107: refuses a query at the endpoint', async () => {
  for (const query of ['?confirm=yes', '?', '?/admin']) {
    const { answers } = await world.refuses(posted(`/mcp${query}`, world.authorization), 400, 'route.query');
    expect(bodyOf(answers[0])).toMatchObject({ error: { code: -32600, data: { reason: 'route.query' } } });
  }
  await world.refuses(get('/mcp?confirm=yes', await world.token()), 400, 'route.query');
});

test('answers 401 to a query without a token', async () => {
  await world.refuses(posted('/mcp?confirm=yes'), 401, 'credentials.missing');
});

test.each([
  ['/mcp/admin/shutdown', 404, 'route.unknown'],
  ['/mcp?confirm=yes', 400, 'route.query'],
] as const)('refuses a proxy’s question about %s', async (target, status, reason) => {
  const question = posted(`/_sallyport/authorize${target}`, world.authorization);
  await world.refuses(question, status, reason, world.gateway.forwardAuthUrl);
});

test('R-107: forwards both if the route says so', async () => {
  for (const rest of ['', '/', '/messages', '/messages?sessionId=1', '?api_key=2']) {
    await world.forwards(posted(`/legacy${rest}`, world.authorization), `POST /old${rest}`);
  }
});
