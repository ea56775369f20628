import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyOf, callOf, post } from './requests.ts';
import { type AttackWorld, AUDIENCE, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { lastHead } from '../support/raw.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    routes: [
      `name: api-admin, path: /api/admin, audience: "${AUDIENCE}", policy: admin, upstream: { url: "UPSTREAM/api/admin" }`,
    ],
    policies: {
      tools: `scope: read
tools: { "get_*": {}, get_secret: { scope: admin }, "get_key_*": { claims: { role: keeper } } }
prompts: { "*": {}, secret: { scope: admin } }
resources: { "file:///**": {}, "file:///secret": { scope: admin } }
`,
    },
    answer: (_request, response, body) => {
      const { method } = JSON.parse(body || '{}') as { method?: string };
      const tools = ['get_price', 'get_SECRET', 'get_secret', 'get_secret\u200b', 'get_Key_1'].map((name) => ({
        name,
      }));
      const result = method === 'tools/list' ? { tools } : { text: UPSTREAM_TEXT };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result, title: UPSTREAM_TEXT }));
    },
  });
});
afterAll(() => world.close());

describe('a path that some servers read as that of a stricter route', () => {
  test.each([
    'admin.json',
    'admin.tar.gz',
    'admin.json/users',
    'admin.',
    'admin..',
    'admin.json.',
    'admin%3Fx',
    'admin%23',
    'admin%20',
    'admin%20.json',
    '%20admin',
    'admin+',
    'admin%C2%A0',
    'admin%E2%80%8B',
    'admin%EF%BB%BF',
    'ad%C2%ADmin',
    'ADMIN.JSON',
    '%EF%BD%81dmin.json',
    'admin%E2%80%8B.json/users',
  ])('is refused: /api/%s', async (name) => {
    await world.withstand(lastHead(`GET /api/${name}`, world.authorization), {
      statuses: [400],
      reasons: ['request.path'],
    });
  });

  test.each(['admin%00', 'admin%09', 'admin;x', 'admin%2e', 'admin%0d'])(
    'is refused for its form: /api/%s',
    async (name) => {
      await world.withstand(lastHead(`GET /api/${name}`, world.authorization), {
        statuses: [400],
        reasons: ['request.path'],
      });
    },
  );

  test.each(['report.json', 'administrator.json', 'x/admin.json', '.admin', 'v1.2/admin'])(
    'is forwarded unchanged if it is only a name: /api/%s',
    async (name) => {
      await world.withstand(lastHead(`GET /api/${name}`, world.authorization), {
        statuses: [200],
        reached: [`GET /api/${name}`],
      });
    },
  );

  test('is refused itself for lack of scope', async () => {
    for (const path of ['/api/admin', '/api/admin/report.json']) {
      await world.withstand(lastHead(`GET ${path}`, world.authorization), {
        statuses: [403],
        reasons: ['scope.insufficient'],
      });
    }
  });
});

const message = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

describe('a name that some servers read as the name of another entry', () => {
  test.each([
    'get_SECRET',
    'get_secret ',
    'get_secret.',
    'get_\u017fecret',
    'get_secret\u200b',
    'get_secret\ufeff',
    'get_se\u00adcret',
    'get_\uff53ecret',
    'get_secret\n',
    'get_Key_1',
    'get_key\u2060_1',
  ])('is refused for the tool %j', async (name) => {
    await world.withstand(post(world.authorization, callOf(name)), { statuses: [403], reasons: ['tool.unlisted'] });
  });

  test.each(['Secret', 'secret ', '\u017fecret', 'secret\u200d'])('is refused for the prompt %j', async (name) => {
    await world.withstand(post(world.authorization, message('prompts/get', { name })), {
      statuses: [403],
      reasons: ['prompt.unlisted'],
    });
  });

  test.each(['SECRET', 'secret.', 'secret%20', 'secret%E2%80%8B', 'secret?x', 'secret#x', 'SECRET?'])(
    'is refused for the resource file:///%s',
    async (name) => {
      const uri = `file:///${name}`;
      await world.withstand(post(world.authorization, message('resources/read', { uri })), {
        statuses: [403],
        reasons: ['resource.unlisted'],
      });
    },
  );

  test.each(['get_price', 'get_Price', 'get_secrets', 'get_price.'])(
    'is allowed for the distinct tool %j',
    async (name) => {
      await world.withstand(post(world.authorization, callOf(name)), { statuses: [200], reached: ['POST /mcp'] });
    },
  );

  test('is not listed if a call would be refused', async () => {
    const { answers } = await world.withstand(post(world.authorization, message('tools/list', {})), {
      statuses: [200],
      reached: ['POST /mcp'],
    });
    const { result } = bodyOf(answers[0]) as { result: { tools: readonly { name: string }[] } };
    expect(result.tools.map(({ name }) => name)).toEqual(['get_price', 'get_secret']);
  });
});
