/** `sallyport replay` of rules over time, with the log of a gateway that serves. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { folderWith } from '../serve/config/folder.ts';
import { outcome } from './run.ts';
import { request, startMcpWorld } from '../worlds/mcp.ts';
import { sendJson } from '../support/upstream.ts';

const policy = `
scope: read
tools:
  approve: {}
  disburse: { after: { tool: approve, within: 1h } }
  get_price: { quota: [{ count: 3, per: 1h }] }
  read_secret: {}
  mail: { never_after: { tool: read_secret, within: 1h } }
`;
/** The name of a log that begins after the first two calls of get_price that counted. */
const late = 'late';
let folder: string;
let statuses: readonly number[];

beforeAll(async () => {
  const world = await startMcpWorld({ policy });
  const call = async (name: string, isError = false): Promise<number> => {
    const result = { content: [], isError };
    world.handle = (_request, response) => sendJson(response, 200, { jsonrpc: '2.0', id: 1, result });
    const message = request('tools/call', { name, arguments: {} });
    const response = await world.send(message, { claims: { sub: 'alice', scope: 'read' } });
    await response.text();
    return response.status;
  };
  statuses = [
    await call('disburse'),
    await call('approve'),
    await call('disburse'),
    await call('get_price', true),
    await call('get_price'),
    await call('get_price'),
    await call('get_price'),
    await call('get_price'),
    await call('read_secret', true),
    await call('mail'),
  ];
  await world.gateway.decisions(10);
  const lines = await world.gateway.lines();
  await world.close();
  const text = lines.map((line) => JSON.stringify(line));
  const second = lines.filter(({ msg }) => msg === 'decision')[5];
  folder = await folderWith({
    yaml: `public_url: http://gateway.test
authorization_servers: { main: { issuer: https://as.example.com, jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, policy: tools, upstream: { url: http://127.0.0.1:1/mcp } }
`,
    files: {
      log: text.join('\n'),
      [late]: text.slice(lines.indexOf(second ?? {}) + 1).join('\n'),
      'policies/tools.yaml': policy,
    },
  });
});

async function write(name: string, text: string): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, 'tools.yaml'), text);
}

test('the gateway answered the calls of the log', () => {
  expect(statuses).toEqual([403, 200, 200, 200, 200, 200, 200, 429, 200, 200]);
});

type Case = readonly [what: string, from: string, to: string, changes: readonly string[]];

const unlogged = 'depends on calls that are not logged';
const beforeApprove = [
  `1 unknown disburse allow → ${unlogged}`,
  `1 unknown disburse deny history.missing → ${unlogged}`,
];

test.each<Case>([
  ['the same rules', '', '', []],
  [
    'a lower quota: calls that gave their part back do not count',
    'count: 3',
    'count: 2',
    ['1 would be denied get_price allow → deny quota.exceeded', `3 unknown get_price allow → ${unlogged}`],
  ],
  [
    'a higher quota: what passed passes again, and there is room for the others',
    'count: 3',
    'count: 5',
    ['1 would be allowed get_price deny quota.exceeded → allow'],
  ],
  [
    'a higher quota beside another rule, by which fewer calls count than then',
    'get_price: { quota: [{ count: 3',
    'get_price: { never_after: { tool: approve, within: 1h }, quota: [{ count: 5',
    [
      '1 would get another answer get_price deny quota.exceeded → deny history.forbidden',
      '4 would be denied get_price allow → deny history.forbidden',
    ],
  ],
  [
    'a call that must not have come before',
    'tool: read_secret',
    'tool: approve',
    ['1 would be denied mail allow → deny history.forbidden'],
  ],
  ['one that must have come before, perhaps before the log', 'tool: approve', 'tool: read_secret', beforeApprove],
  ['an argument that must be the same', 'approve, within: 1h', 'approve, within: 1h, same: [/claim]', beforeApprove],
  [
    'rules over time that are removed',
    'after: { tool: approve, within: 1h }',
    '',
    ['1 would be allowed disburse deny history.missing → allow'],
  ],
  [
    'a scope that the caller lacks: what is refused for it does not count',
    'approve: {}',
    'approve: { scope: write }',
    ['1 would be denied approve allow → deny scope.insufficient (read write)'],
  ],
])('R-277: decides logged calls again by rules over time: %s', async (title, from, to, changes) => {
  expect(await replayed('log', title, policy.replace(from, to))).toEqual({ decided: 10, changes });
});

test.each<Case>([
  ['the same rules', '', '', []],
  [
    'a lower quota: what was refused is refused again',
    'count: 3',
    'count: 2',
    [`1 unknown get_price allow → ${unlogged}`],
  ],
  [
    'a higher quota: what passed passes again, and there is room for the others',
    'count: 3',
    'count: 4',
    ['1 would be allowed get_price deny quota.exceeded → allow'],
  ],
  ['another rule: a quota that stays decides as it did', 'scope: read', 'max_lifetime: 1h', []],
])('R-277: decides calls again where the log begins late: %s', async (title, from, to, changes) => {
  expect(await replayed(late, title, policy.replace(from, to))).toEqual({ decided: 4, changes });
});

test('explain --decision shows the rule over time that refused as the log has it', async () => {
  const lines = (await readFile(join(folder, 'log'), 'utf8')).split('\n');
  const refused = lines.find((line) => line.includes('quota.exceeded')) ?? '';
  const { decision } = JSON.parse(refused) as { readonly decision: string };
  const explained = async (config: string) =>
    (await outcome(['explain', '--decision', decision, '--log', 'log', '--config', config], folder)).stdout;
  const same = await explained('gateway.yaml');
  expect(same).toMatch(/^deny quota\.exceeded/);
  expect(same).toMatch(/^fails +tools\.get_price\.quota\[0\] .* more with this call$/m);
  expect(same).toContain('to be allowed:\n  at most 3 calls per 1h\n');
  expect(same).not.toMatch(/unknown|would allow/);
  // Under an edited rule the log tells nothing.
  await write('raised', policy.replace('count: 3', 'count: 5'));
  const yaml = await readFile(join(folder, 'gateway.yaml'), 'utf8');
  await writeFile(join(folder, 'raised.yaml'), `policies: raised\n${yaml}`);
  const edited = await explained('raised.yaml');
  expect(edited).toMatch(/^unknown +tools\.get_price\.quota\[0\] /m);
  expect(edited).toContain('sallyport replay decides them again from a whole log');
});

/** What replay says of a log under an edited policy. */
async function replayed(log: string, title: string, edited: string) {
  const name = `${log}-${title.replaceAll(/\W+/g, '-')}`;
  await write(name, edited);
  const { code, stdout, stderr } = await outcome(['replay', log, '--json', '--policies', name], folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { decided, changes: found } = JSON.parse(stdout) as {
    readonly decided: number;
    readonly changes: readonly Readonly<Record<'count' | 'change' | 'called' | 'before' | 'after', string>>[];
  };
  const told = found.map(
    ({ count, change, called, before, after }) => `${count} ${change} ${called} ${before} → ${after}`,
  );
  return { decided, changes: told.toSorted() };
}
