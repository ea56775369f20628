import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';

const policies = {
  tools: 'tools:\n  "get_*": {}\n  pay: { claims: { role: trader } }\n  drop: { claims: { role: admin } }\n',
  open: 'lists: show\ntools:\n  "*": {}\n',
};
const long = `drop_${'x'.repeat(200)}`;
const listed = ['get_a', 'pay', 'drop', 'get_b', long, ...Array.from({ length: 70 }, (_, i) => `hidden_${i}`)];
const world = startBeforeAll(() =>
  startWorld({
    top: 'log: { arguments: { show: [/amount, /to, /deep/x, /list], digest: true } }',
    routes: ['tools', 'open'].map(
      (name) =>
        `name: ${name}, path: /${name}, protocol: mcp, audience: a, policy: ${name}, upstream: { url: "UPSTREAM/mcp" }`,
    ),
    policies,
    claims: { aud: 'a', role: 'trader' },
    upstream(_request, response, body) {
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      const tools = listed.map((name) => ({ name, inputSchema: { type: 'object' } }));
      const result = method === 'tools/list' ? { tools } : { content: [] };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    },
  }),
);

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

async function post(path: string, method: string, params?: string): Promise<number> {
  const more = params === undefined ? '' : `,"params":${params}`;
  const { status } = await world.post(
    path,
    await world.token(),
    `{"jsonrpc":"2.0","id":7,"method":"${method}"${more}}`,
  );
  return status;
}

describe('a decision line', () => {
  test('R-350: names the policy with a digest of the bytes of its file, as /readyz does', async () => {
    await post('/tools', 'tools/list');
    expect((await world.gateway.decision())['policy']).toBe(`tools@${digestOf(policies.tools)}`);
    const { policies: shown } = await world.gateway.ready();
    expect(shown).toEqual({ tools: digestOf(policies.tools), open: digestOf(policies.open) });
  });

  test('R-352: has the listed scalars of the arguments, texts cut and numbers with their digits, and a digest', async () => {
    const rest = '"deep":{"x":null,"y":1},"list":[1],"other":"secret"';
    await post(
      '/open',
      'tools/call',
      `{"name":"pay","arguments":{"to":"${'é'.repeat(300)}","amount":9007199254740993,${rest}}}`,
    );
    const line = await world.gateway.decision();
    expect(JSON.stringify(line)).not.toContain('secret');
    expect(line['arguments']).toEqual({
      '/amount': Number('9007199254740993'),
      '/to': 'é'.repeat(256),
      '/deep/x': null,
    });
    const { arguments_digest: first } = line;
    await post(
      '/open',
      'tools/call',
      `{"name":"pay","arguments":{${rest},"amount":9007199254740992,"to":"${'é'.repeat(300)}"}}`,
    );
    expect((await world.gateway.decision())['arguments_digest'], 'another amount').not.toBe(first);
    await post(
      '/open',
      'tools/call',
      `{"name":"pay","arguments":{${rest},"amount":9007199254740993.0,"to":"${'é'.repeat(300)}"}}`,
    );
    expect((await world.gateway.decision())['arguments_digest'], 'the same in another order and notation').toBe(first);
  });

  test('R-352: has the digest of {} for absent arguments, and nothing for what calls no tool', async () => {
    await post('/open', 'tools/call', '{"name":"pay"}');
    expect(await world.gateway.decision()).toMatchObject({
      arguments_digest: createHash('sha256').update('{}').digest('base64url'),
    });
    await post('/open', 'tools/list');
    expect(await world.gateway.decision()).not.toHaveProperty('arguments_digest');
  });
});

test('R-351: a list line says what was shown and withheld, and what withheld it', async () => {
  await post('/tools', 'tools/list');
  const { decision } = await world.gateway.decision();
  const line = await world.gateway.line({ msg: 'list', decision });
  expect(line).toMatchObject({ decision, route: 'tools', method: 'tools/list', shown: 3, by: ['policy'] });
  const withheld = line['withheld'] as readonly string[];
  expect([withheld.length, line['withheld_more']]).toEqual([64, 8]);
  expect(withheld.slice(0, 3)).toEqual(['drop', long.slice(0, 128), 'hidden_0']);
});

test('R-351: a list of which nothing is withheld has no line', async () => {
  await post('/open', 'tools/list');
  const { decision } = await world.gateway.decision();
  await post('/tools', 'tools/list');
  await world.gateway.line({ msg: 'list', decision: (await world.gateway.decision())['decision'] });
  const lists = (await world.gateway.lines()).filter(({ msg }) => msg === 'list');
  expect(lists.filter((line) => line['decision'] === decision)).toEqual([]);
});
