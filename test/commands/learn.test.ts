import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { folderWith } from '../serve/config/folder.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';
import { outcome } from './run.ts';

const routes = (upstream: string): string => `
routes:
  - { name: tools, path: /mcp, protocol: mcp, audience: r, policy: tools, upstream: { url: ${upstream} } }
  - { name: api, path: /api, audience: r, policy: api, upstream: { url: ${upstream} } }
  - { name: twin, path: /twin, audience: r, policy: api, upstream: { url: ${upstream} } }
  - { name: bare, path: /bare, audience: r, upstream: { url: ${upstream} } }
`;
const server = (issuer: string): string =>
  `authorization_servers: { main: { issuer: ${issuer}, jwt: { algorithms: [RS256] } } }`;

let folder: string;
beforeEach(async () => {
  const shadow = 'mode: shadow\nscope: admin\n';
  folder = await folderWith({
    yaml: `public_url: http://g.test\n${server('http://as.test')}\n${routes('http://up.test')}`,
    files: { 'policies/tools.yaml': shadow, 'policies/api.yaml': shadow },
  });
});

let id = 0;
/** A line of the log. */
const line = (members: object): string => {
  const known = { msg: 'decision', time: '2026-01-31T10:00:00.000Z', decision: `d${(id += 1)}`, request_id: 'r' };
  const call = { route: 'tools', allow: true, subject: 'alice', issuer: 'http://as.test', method: 'tools/call' };
  return JSON.stringify({ ...known, ...call, scope: 'read', duration_ms: 1, ...members });
};
const learn = async (lines: readonly string[], ...options: readonly string[]) => {
  await writeFile(join(folder, 'log'), lines.join('\n'));
  return outcome(['learn', 'log', '--route', 'tools', ...options], folder);
};

describe('from a server in shadow mode', () => {
  const yaml = (issuer: string, upstream: string): string => `${server(issuer)}\n${routes(upstream)}`;
  const shadow = 'mode: shadow\nscope: admin\nclaims: { role: of-no-caller }\n';
  const policies = { tools: shadow, api: shadow };
  const world = startBeforeAll(() => startWorld({ yaml, policies, claims: { aud: 'r' } }));
  let log: readonly Record<string, unknown>[];
  beforeAll(async () => {
    const trader = { sub: 'bob', scope: 'read pay', role: 'trader' };
    const send = async (caller: Record<string, unknown>, method: string, params: object): Promise<unknown> =>
      world.post('/mcp', await world.token(caller), JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const clerk = { sub: 'alice', scope: 'read', role: 'clerk' };
    await send(clerk, 'ping', {});
    await send(clerk, 'tools/call', { name: 'get_price', arguments: {} });
    await send(trader, 'tools/call', { name: 'get_price', arguments: {} });
    await send(trader, 'tools/call', { name: 'transfer', arguments: {} });
    await send(trader, 'resources/read', { uri: 'prices://acme' });
    const reference = { type: 'ref/prompt', name: 'summary' };
    await send(trader, 'completion/complete', { ref: reference, argument: { name: 'a', value: '' } });
    await send(trader, 'logging/custom', {});
    log = await world.gateway.decisions(7);
  });

  test('R-330: writes each name that was seen, with the scopes that its callers had, and tests that pass', async () => {
    const gateway = `public_url: http://g.test\n${yaml(world.issuer.url, world.upstream.url)}`;
    await writeFile(join(folder, 'gateway.yaml'), gateway);
    await writeFile(join(folder, 'log'), log.map((each) => JSON.stringify(each)).join('\n'));
    const options = '--route tools --to policies --by claim:role --force'.split(' ');
    expect(await outcome(['learn', 'log', ...options], folder)).toEqual({
      code: 0,
      stdout: '7 decisions decided again: nothing is newly refused\n',
      stderr: '',
    });
    expect(await readFile(join(folder, 'policies/tools.yaml'), 'utf8')).toBe(`\
# Learnt from 7 calls on the route tools. It allows each of them, and nothing else.
# Arguments are not logged: no entry has conditions on them.
scope: read
tools:
  get_price: { claims: { role: [clerk, trader] } } # 2 calls
  transfer: { scope: pay, claims: { role: [trader] } } # 1 call
resources:
  "prices://acme": { scope: pay, claims: { role: [trader] } } # 1 call
prompts:
  summary: { scope: pay, claims: { role: [trader] } } # 1 call
methods:
  "logging/custom": { scope: pay, claims: { role: [trader] } } # 1 call
`);
    const tested = await outcome(['test', 'tools'], folder);
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining('6 passed, 0 failed') as unknown });
    const replayed = await outcome(['replay', 'log', '--json'], folder);
    const { changes } = JSON.parse(replayed.stdout) as { changes: readonly { after: string }[] };
    expect(changes.map(({ after }) => after)).toEqual(changes.map(() => 'allow'));
  });
});

test('the same lines give the same text in any order, over any files, and a line that is there twice counts once', async () => {
  const lines = [line({ tool: 'b' }), line({ tool: 'a' }), line({ tool: 'a', scope: 'read write' })];
  const { stdout } = await learn(lines);
  expect(stdout).toContain('tools:\n  a: {} # 2 calls\n  b: {} # 1 call\n');
  await writeFile(join(folder, 'log.1'), `${lines[2]}\n${lines[0]}\n`);
  await writeFile(join(folder, 'log'), `${lines[1]}\n${lines[2]}\n`);
  expect((await outcome(['learn', 'log', 'log.1', '--route', 'tools'], folder)).stdout).toBe(stdout);
});

test('what a line refused, and what another route let pass, is not learnt', async () => {
  const { stdout } = await learn([
    line({ tool: 'a' }),
    line({ tool: 'b', allow: false, reason: 'scope.insufficient' }),
    line({ tool: 'c', route: 'api' }),
    line({ tool: 'd', shadow: true, reason: 'scope.insufficient', detail: 'x' }),
  ]);
  expect(stdout).toContain('tools:\n  a: {} # 1 call\n  d: {} # 1 call\n');
});

test('housekeeping alone gives a policy that allows no tool', async () => {
  const { code, stdout } = await learn([line({ method: 'ping' }), line({ method: 'tools/list' })]);
  expect({ code, last: stdout.split('\n').at(-2) }).toEqual({ code: 0, last: 'tools: {}' });
});

test.each([
  ['get_*', 'tool "get_*": a * in an entry is a pattern'],
  ['', 'tool "": it is empty'],
  ['x'.repeat(512), 'the log cut it'],
  ['get_${claims.sub}', 'tool "get_${claims.sub}": no entry can have this name'],
])('%j is left out, named, and makes exit 1', async (tool, why) => {
  const { code, stdout, stderr } = await learn([line({ tool: 'a' }), line({ tool })]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^# Left out: /m);
  expect(stderr).toContain(why);
  expect(stdout).toContain('tools:\n  a: {} # 1 call\n');
});

test.each(['resource', 'template'])(
  'a %s with a variable, which covers more than itself, is left out',
  async (kind) => {
    const targets = [{ kind, name: 'file:///{id}' }];
    const { code, stdout, stderr } = await learn([line({ method: 'resources/read', input: { targets } })]);
    expect({ code, listing: stdout.split('\n').at(-2) }).toEqual({ code: 1, listing: 'tools: {}' });
    expect(stderr).toContain(
      `${kind === 'template' ? 'resource template' : kind} "file:///{id}": {id} in an entry is a pattern`,
    );
  },
);

test('a request with a variable, which no path has, is left out', async () => {
  const request = line({ route: 'api', method: 'GET', path: '/api/{id}' });
  const { code, stderr } = await learn([request], '--route', 'api', '--name', 'api');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('{id} in an entry is a pattern') as unknown,
  });
});

test('a claim that not each call has is no condition', async () => {
  const claims = { input: { claims: { role: 'a' } } };
  const { stdout } = await learn([line({ tool: 'a', ...claims }), line({ tool: 'a' })], '--by', 'claim:role');
  expect(stdout).toContain('  a: {} # 2 calls; not each call has a role to list\n');
});

test('a scope that no policy can name is left out, and named', async () => {
  const { code, stdout, stderr } = await learn([line({ tool: 'a', scope: 'read \u001B[2J' })]);
  expect(code).toBe(1);
  expect(stderr).toContain('left out: scope "\\u001b[2J": no policy can name it\n');
  expect(stdout).toContain('scope: read\n');
});

describe('nothing is written', () => {
  const a = line({ tool: 'a' });
  test.each<[string, readonly string[], readonly string[], string, code?: number]>([
    ['without a call', ['no line'], [], 'nothing was written: the log has no allowed call of the route tools'],
    ['for an unknown route', [a], ['--route', 'x'], 'there is no route "x"; there are: tools, api, twin, bare', 2],
    ['over files that exist', [a], ['--to', 'policies'], 'policies/tools.yaml exists already: pass --force'],
    ['of several routes', [line({ route: 'api' })], ['--route', 'api'], 'the policy api belongs to twin too'],
    ['of a name with a path', [a], ['--name', '../x'], '--name: "../x" is not the name of a policy'],
  ])('%s', async (_title, lines, options, message, exit = 1) => {
    const before = await readFile(join(folder, 'policies/tools.yaml'), 'utf8');
    const { code, stderr } = await learn(lines, ...options);
    expect({ code, stderr }).toEqual({ code: exit, stderr: expect.stringContaining(message) as unknown });
    expect(await readFile(join(folder, 'policies/tools.yaml'), 'utf8')).toBe(before);
  });

  test.each(['role', 'claim:/a~b', 'claim:${env:X}'])('by %s, which is no claim', async (by) => {
    expect(await learn([a], '--by', by)).toMatchObject({ code: 2 });
  });

  test('below a file', async () => {
    expect(await learn([a], '--to', 'gateway.yaml/policies')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^sallyport: ENOTDIR: not a directory, \w+ 'gateway\.yaml\/policies.*'\n$/,
      ) as unknown,
    });
  });

  test('from a log that has no paths', async () => {
    await writeFile(join(folder, 'log'), line({ route: 'bare', method: 'GET' }));
    expect(await outcome(['learn', 'log', '--route', 'bare'], folder)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'sallyport: nothing was written: the log has no whole path of 1 allowed call of the route bare, and a policy ' +
        'lists paths: set log.paths to true, or write requests by hand\n',
    });
  });
});

test('the tools that a call called are listed, with the `inner` of the policy in force', async () => {
  const called = line({ tool: 'call_tool', inner: ['search', 'pay'], scope: 'read pay' });
  const refused = await learn([called]);
  expect(refused.stdout + refused.stderr).toContain('it calls other tools, and the policy in force does not say how');
  const inner = 'inner: { name: /tool_name, arguments: /parameters }';
  await writeFile(join(folder, 'policies/tools.yaml'), `mode: shadow\ntools: { call_tool: { ${inner} } }\n`);
  const { stdout } = await learn([called]);
  expect(stdout).toContain('search');
  expect(stdout).toMatch(/call_tool.*inner.*tool_name/);
});

test('a tool that was called by another one and calls others itself keeps its `inner`', async () => {
  const inner = 'inner: { name: /tool_name, arguments: /parameters }';
  await writeFile(
    join(folder, 'policies/tools.yaml'),
    `tools: { call_tool: { ${inner} }, invoke: { ${inner} }, pay: {} }
`,
  );
  const { stdout } = await learn([line({ tool: 'call_tool', inner: ['invoke', 'pay'], scope: 'read' })]);
  expect(stdout).toMatch(/invoke.*inner.*tool_name/);
});
