import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Reason } from '../../src/model/reasons.ts';
import { bodyOf, callOf, post } from './requests.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    policies: {
      tools:
        'scope: read\ntools: { get_price: {}, "größe": {} }\nresources: { "prices://a": {} }\nprompts: { greet: {} }\nmethods: { tasks/get: {} }\n',
    },
  });
});
afterAll(() => world.close());

const version = '2026-07-28';

/** A message of the newest revision. */
function modern(method: string, params: object): string {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: meta } });
}

const encoded = (name: string): string => `=?base64?${Buffer.from(name).toString('base64')}?=`;
const headers = (method: string, name: string): string[] => [
  `MCP-Protocol-Version: ${version}`,
  `Mcp-Method: ${method}`,
  `Mcp-Name: ${name}`,
];

const named = [
  ['tools/call', 'name', 'get_price', 'pay'],
  ['resources/read', 'uri', 'prices://a', 'secrets://a'],
  ['prompts/get', 'name', 'greet', 'leak'],
] as const;

describe.each(named)('%s', (method, parameter, allowed, denied) => {
  const call = (name: string): string => modern(method, { [parameter]: name });

  test('decides on the body if the headers agree', async () => {
    for (const name of [allowed, encoded(allowed), ` ${allowed} `]) {
      await world.withstand(post(world.authorization, call(allowed), ...headers(method, name)), {
        statuses: [200],
        reached: ['POST /mcp'],
        reasons: ['allow'],
      });
    }
    await world.withstand(post(world.authorization, call(denied), ...headers(method, denied)), {
      statuses: [403],
    });
  });

  test.each([
    ['another name', headers(method, allowed)],
    ['another case', headers(method, denied.toUpperCase())],
    ['a name that is packed otherwise', headers(method, encoded(allowed))],
    ['a name that is packed badly', headers(method, '=?base64?####?=')],
    ['a name that is packed twice', headers(method, encoded(encoded(denied)))],
    ['a name in packing that forgives', headers(method, `${encoded(denied).slice(0, -2)}=?=`)],
    ['an empty name', headers(method, '')],
    ['a name with a percent sign', headers(method, `%${denied.charCodeAt(0).toString(16)}${denied.slice(1)}`)],
    ['another method', headers('ping', denied)],
    ['a method in another case', headers(method.toUpperCase(), denied)],
    ['no method', [`MCP-Protocol-Version: ${version}`, `Mcp-Name: ${denied}`]],
    ['no name', [`MCP-Protocol-Version: ${version}`, `Mcp-Method: ${method}`]],
    ['no version', [`Mcp-Method: ${method}`, `Mcp-Name: ${denied}`]],
    ['an older version', [`MCP-Protocol-Version: 2025-11-25`, `Mcp-Method: ${method}`, `Mcp-Name: ${denied}`]],
  ])('refuses %s in the headers', async (_what, lines) => {
    const { answers } = await world.withstand(post(world.authorization, call(denied), ...lines), {
      statuses: [400],
      reasons: ['message.header_mismatch'],
    });
    expect(bodyOf(answers[0])).toMatchObject({ id: 7, error: { code: -32020 } });
  });

  test.each([
    ['two names', [...headers(method, denied), `Mcp-Name: ${allowed}`]],
    ['two methods', [...headers(method, denied), 'Mcp-Method: ping']],
    ['two versions', [...headers(method, denied), 'MCP-Protocol-Version: 2025-11-25']],
  ])('refuses %s', async (_what, lines) => {
    await world.withstand(post(world.authorization, call(denied), ...lines), {
      statuses: [400],
      reasons: ['request.duplicate_header'],
    });
  });
});

test.each<[string, string, Reason, readonly string[]]>([
  ['an unknown revision', modern('ping', {}).replace(version, '2099-01-01'), 'message.version', []],
  ['a version that is a number', modern('ping', {}).replace(`"${version}"`, '20260728'), 'message.meta', []],
  ['a new header without the new _meta', callOf('get_price'), 'message.meta', headers('tools/call', 'get_price')],
  [
    'an old handshake under a new header',
    '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}',
    'message.header_mismatch',
    headers('initialize', ''),
  ],
])('refuses %s', async (_what, body, reason, lines) => {
  const { answers } = await world.withstand(post(world.authorization, body, ...lines), {
    statuses: [400],
    reasons: [reason],
  });
  expect(bodyOf(answers[0])).toMatchObject({ error: { code: expect.any(Number) } });
});

test('R-103: ignores the headers in older revisions', async () => {
  const lines = ['Mcp-Method: ping', 'Mcp-Name: get_price', 'MCP-Protocol-Version: 2025-11-25'];
  await world.withstand(post(world.authorization, callOf('pay'), ...lines), {
    statuses: [403],
    reasons: ['tool.unlisted'],
  });
});

test('R-104: compares an encoded name beyond ASCII with the body', async () => {
  const body = modern('tools/call', { name: 'größe' });
  await world.withstand(post(world.authorization, body, ...headers('tools/call', encoded('größe'))), {
    statuses: [200],
    reached: ['POST /mcp'],
  });
  await world.withstand(post(world.authorization, body, ...headers('tools/call', encoded('große'))), {
    statuses: [400],
    reasons: ['message.header_mismatch'],
  });
});
