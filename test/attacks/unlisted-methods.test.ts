import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reason } from '../../src/model/reasons.ts';
import { bodyOf, callOf, fieldOf, post } from './requests.ts';
import { type AttackWorld, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    policies: {
      tools: 'scope: read\ntools:\n  get_price: {}\n  pay: { claims: { role: trader } }\n  step: { scope: more }\n',
    },
    answer: (_request, response, body) => {
      const { method, params } = JSON.parse(body || '{}') as { method?: string; params?: { cursor?: string } };
      if (params?.cursor === 'broken') {
        response.writeHead(200, { 'content-type': 'application/json' }).end(`${UPSTREAM_TEXT} {"tools": [`);
        return;
      }
      const tools = ['get_price', 'pay', 'step', 'delete_everything'].map((name) => ({ name, title: UPSTREAM_TEXT }));
      const result = method === 'tools/list' ? { tools } : { text: UPSTREAM_TEXT };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
    },
  });
});
afterAll(() => world.close());

const message = (method: string, params: unknown = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
const expectDenied = async (body: string, reason: Reason): Promise<void> => {
  const { answers } = await world.withstand(post(world.authorization, body), { statuses: [403], reasons: [reason] });
  expect(fieldOf(answers[0], 'WWW-Authenticate'), 'no scope would mend it').toBeUndefined();
  expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { data: { reason } } });
};

describe('R-89: a policy that lists tools only', () => {
  test.each<[string, unknown, Reason]>([
    ['resources/read', { uri: 'file:///etc/passwd' }, 'resource.unlisted'],
    ['resources/subscribe', { uri: 'file:///etc/passwd' }, 'resource.unlisted'],
    ['prompts/get', { name: 'leak' }, 'prompt.unlisted'],
    ['completion/complete', { ref: { type: 'ref/resource', uri: 'file:///{path}' } }, 'method.unlisted'],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'leak' } }, 'method.unlisted'],
    ['sampling/createMessage', {}, 'method.unlisted'],
    ['tools/execute', { name: 'get_price' }, 'method.unlisted'],
    ['x-vendor/anything', {}, 'method.unlisted'],
    ['tools//call', { name: 'get_price' }, 'method.unlisted'],
    ['rpc.discover', {}, 'method.unlisted'],
    ['__proto__', {}, 'method.unlisted'],
    ['toString', {}, 'method.unlisted'],
    ['', {}, 'method.unlisted'],
  ])('refuses %s %j', async (method, params, reason) => {
    await expectDenied(message(method, params), reason);
  });

  test.each(['notifications/x-vendor', 'notifications/tools/call'])('refuses %s, which has no id', async (method) => {
    const body = JSON.stringify({ jsonrpc: '2.0', method, params: { name: 'delete_everything' } });
    const { reached } = await world.withstand(post(world.authorization, body), {
      statuses: [200],
      reached: ['POST /mcp'],
    });
    expect(reached[0]?.body).toBe(body);
  });

  test('refuses a call as a notification without an answer', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'delete_everything' } });
    await world.withstand(post(world.authorization, body), { statuses: [403], reasons: ['tool.unlisted'] });
  });
});

describe('a hidden tool is refused when it is called', () => {
  test('R-93: the list shows only tools that this caller may call', async () => {
    const { answers } = await world.withstand(post(world.authorization, message('tools/list')), {
      statuses: [200],
      reached: ['POST /mcp'],
    });
    expect(answers[0]).toContain('"get_price"');
    expect(answers[0]).toContain('"step"');
    expect(answers[0]).not.toContain('"pay"');
    expect(answers[0]).not.toContain('delete_everything');
  });

  test('R-94: an unreadable list is neither shown nor quoted in the log', async () => {
    await world.withstand(post(world.authorization, message('tools/list', { cursor: 'broken' })), {
      statuses: [502],
      reached: ['POST /mcp'],
      reasons: ['allow'],
    });
    await world.gateway.line({ msg: 'request failed', reason: 'upstream.invalid' });
  });

  test.each<[string, Reason]>([
    ['delete_everything', 'tool.unlisted'],
    ['pay', 'claim.denied'],
    ['GET_PRICE', 'tool.unlisted'],
    ['get_price ', 'tool.unlisted'],
    [' get_price', 'tool.unlisted'],
    ['get_price/../pay', 'tool.unlisted'],
    ['get_pricе', 'tool.unlisted'],
    ['get_price\u200b', 'tool.unlisted'],
    ['get%5Fprice', 'tool.unlisted'],
    ['ｇet_price', 'tool.unlisted'],
    ['__proto__', 'tool.unlisted'],
    ['constructor', 'tool.unlisted'],
    ['hasOwnProperty', 'tool.unlisted'],
    ['*', 'tool.unlisted'],
    ['', 'tool.unlisted'],
  ])('%j', async (name, reason) => {
    await expectDenied(callOf(name), reason);
  });

  test('names the missing scope, and nothing else that exists', async () => {
    const { answers } = await world.withstand(post(world.authorization, callOf('step')), {
      statuses: [403],
      reasons: ['scope.insufficient'],
    });
    expect(fieldOf(answers[0], 'WWW-Authenticate')).toContain('scope="read more"');
  });
});

describe('a method that some servers read as one of MCP', () => {
  let open: AttackWorld;
  beforeAll(async () => {
    open = await startAttackWorld({ policies: { tools: 'tools: { get_price: {} }\nmethods: { "*": {} }\n' } });
  });
  afterAll(() => open.close());

  test.each<[string, object]>([
    ['Tools/Call', { name: 'delete_everything' }],
    ['tools/call ', { name: 'delete_everything' }],
    ['tools/call\u200b', { name: 'delete_everything' }],
    ['tool\u017f/call', { name: 'delete_everything' }],
    ['TOOLS/LIST', {}],
    ['tools/list.', {}],
    ['Resources/read', { uri: 'file:///etc/passwd' }],
    ['logging/setlevel', { level: 'debug' }],
    ['Tasks/get', { taskId: 'of another caller' }],
  ])('is covered by no pattern: %j', async (method, params) => {
    const { answers } = await open.withstand(post(open.authorization, message(method, params)), {
      statuses: [400],
      reasons: ['body.ambiguous'],
    });
    expect(bodyOf(answers[0])).toMatchObject({ id: 1 });
  });

  test('does not block methods that only look similar', async () => {
    for (const method of ['tools/call2', 'x/Tools', 'logging/setLevel']) {
      await open.withstand(post(open.authorization, message(method)), { statuses: [200], reached: ['POST /mcp'] });
    }
  });
});
