import { beforeAll, describe, expect, test } from 'vitest';
import { bodyOf, modernPost } from './requests.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';

/** What the upstream declares now; `undefined` lists the tool without any header. */
let declared: object | undefined;

const schema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    amount: { type: 'integer', 'x-mcp-header': 'Amount' },
    // Not along `properties` alone: no client sends it.
    list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Item' } },
  },
};

const world = startBeforeAll(() =>
  startAttackWorld({
    policies: { tools: 'scope: read\ntools:\n  get_price: {}\n' },
    answer: (request, response, body) => {
      const isList = body.includes('"tools/list"');
      const tools = ['hidden', 'get_price'].map((name) => ({ name, inputSchema: declared }));
      const result = isList ? { tools } : { content: [], note: UPSTREAM_TEXT };
      const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { resultType: 'complete', ...result } });
      const sse = request.headers['x-want'] === 'sse';
      response.writeHead(200, { 'content-type': sse ? 'text/event-stream' : 'application/json' });
      response.end(sse ? `data: ${text}\n\n` : text);
    },
  }),
);

async function list(want = 'json', inputSchema: object | undefined = schema): Promise<void> {
  declared = inputSchema;
  const attack = modernPost(world.authorization, 'tools/list', {}, `X-Want: ${want}`);
  await world.forwards(attack, 'POST /mcp');
}

const call = (args: object, ...lines: readonly string[]): Buffer =>
  modernPost(world.authorization, 'tools/call', { name: 'get_price', arguments: args }, ...lines);

async function expectPassed(args: object, ...lines: readonly string[]): Promise<void> {
  await world.forwards(call(args, ...lines), 'POST /mcp');
}

async function expectRefused(args: object, ...lines: readonly string[]): Promise<void> {
  const { answers } = await world.refuses(call(args, ...lines), 400, 'message.header_mismatch');
  expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { code: -32020 } });
}

// test/mcp/tool-headers.test.ts has the tables of values.
describe.each(['json', 'sse'])('after a list as %s', (want) => {
  beforeAll(() => list(want));

  test.each<[string, object, readonly string[]]>([
    ['another value', { region: 'eu' }, ['Mcp-Param-Region: us']],
    ['no header', { region: 'eu' }, []],
    ['the header twice', { region: 'eu' }, ['Mcp-Param-Region: eu', 'mcp-param-region: eu']],
    ['a number that JavaScript cannot hold', { amount: 9_007_199_254_740_992 }, ['Mcp-Param-Amount: 9007199254740993']],
  ])('refuses %s', async (_what, args, lines) => expectRefused(args, ...lines));

  test.each<[string, object, readonly string[]]>([
    ['the value in base64', { region: 'ö' }, ['Mcp-Param-Region: =?base64?w7Y=?=']],
    ['a header that no tool declares', { list: ['a'] }, ['Mcp-Param-Item: b', 'Mcp-Param-Other: c']],
  ])('forwards %s', async (_what, args, lines) => expectPassed(args, ...lines));
});

test('a newer list replaces the declarations of an older one', async () => {
  await list();
  await expectRefused({ region: 'eu' }, 'Mcp-Param-Region: us');
  await list('json', { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Zone' } } });
  await expectPassed({ region: 'eu' }, 'Mcp-Param-Zone: eu', 'Mcp-Param-Region: us');
  await expectRefused({ region: 'eu' });
  await list('json', {});
  await expectPassed({ region: 'eu' });
});

test('checks the headers of a tool that the list hid from another caller', async () => {
  // What one caller was shown does not matter: the upstream said it.
  await list();
  const params = { name: 'hidden', arguments: { region: 'eu' } };
  const hidden = modernPost(world.authorization, 'tools/call', params, 'Mcp-Param-Region: us');
  await world.refuses(hidden, 400, 'message.header_mismatch');
});

test('forwards headers unchanged before any list has passed', async () => {
  const fresh = await forThisTest(startAttackWorld());
  const attack = call({ region: 'eu' }, 'Mcp-Param-Region: us')
    .toString('latin1')
    .replace(world.authorization, fresh.authorization);
  const { reached } = await fresh.forwards(attack, 'POST /mcp');
  expect(reached[0]?.headers['mcp-param-region']).toBe('us');
});
