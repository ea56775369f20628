import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { explainDecision, explanationTable } from '../../src/commands/explain.ts';
import { loadConfig } from '../../src/serve/config/load.ts';
import { folderWith } from '../serve/config/folder.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { startWorld } from '../worlds/gateway.ts';
import { request } from '../worlds/mcp.ts';
import { outcome } from './run.ts';

const policies = {
  api: 'scope: read\nclaims:\n  risk: { below: 50 }\n  /realm/roles: { contains: trader }\n',
  tools: 'scope: read\ntools:\n  "get_*": {}\n  pay: { arguments: { /amount: { at_most: 10 } } }\n',
  shade: 'mode: shadow\nscope: write\n',
};
const secretive = 'never-in-the-log@example.com';

const yaml = (issuer: string, upstream: string): string => `
authorization_servers: { main: { issuer: ${issuer}, jwt: { algorithms: [RS256] } } }
routes:
  - { name: api, path: /api, audience: r, policy: api, upstream: { url: ${upstream} } }
  - { name: tools, path: /mcp, protocol: mcp, audience: r, policy: tools, upstream: { url: ${upstream} } }
  - { name: shade, path: /shade, audience: r, policy: shade, upstream: { url: ${upstream} } }
`;
const claims = { aud: 'r', scope: 'read', email: secretive, realm: { roles: ['trader'] }, risk: 20 };
const world = startBeforeAll(() => startWorld({ yaml, policies, claims }));
let folder: string;
let log: readonly Record<string, unknown>[];

beforeAll(async () => {
  const [alice, bob] = await Promise.all([world.token({}), world.token({ sub: 'bob', risk: 40 })]);
  const get = (path: string, token: string): Promise<unknown> => world.send(path, { token });
  const tool = (name: string, amount: number): Promise<unknown> =>
    world.post('/mcp', alice, JSON.stringify(request('tools/call', { name, arguments: { amount } })));
  for (const token of [alice, bob, bob, 'junk']) await get('/api', token);
  await get('/nowhere', alice);
  await get('/shade', alice);
  await tool('get_price', 0);
  await tool('pay', 5);
  await tool('pay', 471147114711);
  await tool('other', 0);
  log = await world.gateway.decisions(10);

  const lines = log.map((line) => `gateway-1  | ${JSON.stringify(line)}`);
  folder = await folderWith({
    yaml: `public_url: http://gateway.test\n${yaml(world.issuer.url, world.upstream.url)}`,
    files: { log: ['not JSON', 'gateway-1  | {"msg":"listening"}', ...lines].join('\n') },
  });
  await writePolicies('policies', policies);
});

async function writePolicies(name: string, texts: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  for (const [policy, text] of Object.entries(texts)) await writeFile(join(folder, name, `${policy}.yaml`), text);
}

interface Changes {
  readonly decided: number;
  readonly passed_over: number;
  readonly changes: readonly Record<string, unknown>[];
}

async function replayed(edited?: Partial<typeof policies>): Promise<Changes> {
  const name = `edited-${Math.random()}`;
  if (edited !== undefined) await writePolicies(name, { ...policies, ...edited });
  const asked = edited === undefined ? [] : ['--policies', name];
  const { code, stdout, stderr } = await outcome(['replay', 'log', '--json', ...asked], folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Changes;
}

/** Lines that name a decision and are none that the gateway writes. */
const malformed = [
  ...[
    { input: { targets: 5 } },
    { input: { targets: [{ kind: 'constructor', name: 'a' }] } },
    { input: { omitted: [1] } },
    { input: { claims: { ['/a'.repeat(10_000)]: 1 } } },
    { tool: 5 },
    { time: 'soon' },
    { subject: { toString: 1 } },
  ].map((members) => {
    const decision = { msg: 'decision', decision: '1', route: 'tools', allow: true, issuer: 'x', method: 'tools/call' };
    return JSON.stringify({ ...decision, ...members });
  }),
  '{"msg":"settled","decision":{"toString":1}}',
  // Cut off.
  '{"level":"info","msg":"decision","decision":"1","all',
  `{"msg":"decision","decision":"1","allow":true,"input":{"claims":${'['.repeat(9e4)}${']'.repeat(9e4)}}}`,
];

describe('sallyport replay', () => {
  test('reports no change for unchanged policies', async () => {
    const skipped = { skipped_lines: 2, unreadable_decisions: 0, too_long_lines: 0 };
    expect(await replayed()).toEqual({ decided: 8, passed_over: 2, ...skipped, changes: [] });
  });

  test('R-176: reports what would change, for which callers, and how often', async () => {
    const { changes } = await replayed({ api: policies.api.replace('50', '30') });
    const decisions = { before: 'allow', after: 'deny claim.denied' };
    const call = { route: 'api', called: 'GET', subject: 'bob' };
    expect(changes).toEqual([{ change: 'would be denied', ...call, ...decisions, count: 2 }]);
  });

  test('reports a nested claim, a tool that becomes allowed, and a shadow policy that is enforced', async () => {
    const { changes } = await replayed({
      api: policies.api.replace('trader', 'admin'),
      tools: `${policies.tools}  other: {}\n`,
      shade: 'scope: write\n',
    });
    const told = changes.map(({ change, route, called, count }) => [change, route, called, count]);
    expect(told.map((each) => each.join(' ')).toSorted()).toEqual([
      'would be allowed tools other 1',
      'would be denied api GET 1',
      'would be denied api GET 2',
      'would be denied shade GET 1',
    ]);
  });

  test('reports a decision that depends on arguments as unknown', async () => {
    const { changes } = await replayed({ tools: policies.tools.replace('10', '20') });
    const unknown = { change: 'unknown', called: 'pay', after: 'depends on arguments, which are not logged', count: 1 };
    expect(changes).toMatchObject([unknown, unknown]);
  });

  test('prints one line a change, then a summary', async () => {
    await writePolicies('people', { ...policies, api: policies.api.replace('50', '30') });
    const { stdout } = await outcome(['replay', 'log', '--policies', 'people'], folder);
    expect(stdout).toBe(
      `      2  would be denied            api  GET  bob: allow → deny claim.denied

8 decisions, 2 would change or cannot be decided, for 1 caller (2 more were not decided by a policy; skipped 2 lines without a decision)
`,
    );
  });

  test.each([
    ['log --policies wrong', 'wrong/api.yaml:1:1: scoop: unknown key'],
    ['log --policies nowhere', 'nowhere: is not a folder'],
    ['nothing', 'nothing: does not exist'],
  ])('reports policies with a problem, and a missing folder or log: %s', async (args, says) => {
    await writePolicies('wrong', { api: 'scoop: read\n' });
    const { code, stderr } = await outcome(['replay', ...args.split(' ')], folder);
    expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
  });

  test('counts decisions that it cannot read, and lines that are too long', async () => {
    const good = await readFile(join(folder, 'log'), 'utf8');
    const long = JSON.stringify({ msg: 'decision', decision: '1', allow: true, detail: 'x'.repeat(2 ** 20) });
    await writeFile(join(folder, 'log.damaged'), [good, ...malformed, long].join('\n'));
    for (const edited of ['policies', 'over-time']) {
      await writePolicies('over-time', { ...policies, tools: 'tools: { "*": { quota: [{ count: 9, per: 1h }] } }' });
      const ran = await outcome(['replay', 'log.damaged', '--json', '--policies', edited], folder);
      expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(ran.stdout)).toMatchObject({
        decided: 8,
        skipped_lines: 2,
        unreadable_decisions: malformed.length,
        too_long_lines: 1,
      });
    }
    const { stdout } = await outcome(['replay', 'log.damaged'], folder);
    expect(stdout).toContain(
      `skipped 2 lines without a decision; skipped ${malformed.length} unreadable decisions and 1 line of more than 1 MiB)`,
    );
    expect(await outcome(['explain', '--decision', 'none', '--log', 'log.damaged'], folder)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('unreadable decisions and 1 line of more than 1 MiB'),
    });
  });

  test.each([
    ['an empty one', '', 'it is empty'],
    ['of something else', '{"a":1}\nmore\n', 'none of its 2 lines is a decision'],
    [
      'of routes that there are not',
      '{"msg":"decision","decision":"1","route":"gone","allow":true,"issuer":"x"}\n',
      'none of its 1 decision was made by a policy of a route of this configuration',
    ],
  ])('a log without a decision to make again is an error: %s', async (_what, text, found) => {
    await writeFile(join(folder, 'other'), text);
    for (const json of [[], ['--json']]) {
      const { code, stdout, stderr } = await outcome(['replay', 'other', ...json], folder);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^sallyport: other: .*; pass the .*\n$/);
      expect(stderr).toContain(found);
    }
  });
});

describe('sallyport explain --decision', () => {
  const explain = (id: unknown, ...more: readonly string[]) =>
    outcome(['explain', '--decision', String(id), '--log', 'log', ...more], folder);
  const of = (reason: string | undefined, tool?: string) =>
    log.find((line) => line['reason'] === reason && (tool === undefined || line['tool'] === tool)) ?? {};

  test('explains a logged decision by its id or by that of its request', async () => {
    const { decision, request_id: request } = of('tool.unlisted');
    for (const id of [decision, request]) {
      const { code, stdout } = await explain(id, '--json');
      expect(code).toBe(0);
      const refused = { route: 'tools', allow: false, reason: 'tool.unlisted', rule: 'tools', notes: [] };
      expect(JSON.parse(stdout)).toMatchObject(refused);
    }
  });

  test('shows each decision as logged, whatever stage made it', async () => {
    const config = await loadConfig(join(folder, 'gateway.yaml'), {});
    for (const { decision, allow, shadow, reason } of log) {
      const told = explanationTable(await explainDecision(config, String(decision), join(folder, 'log')));
      const words = allow !== true ? 'deny ' : shadow === true ? 'allow, but only in shadow; enforced: deny ' : 'allow';
      expect(told.startsWith(`${words}${typeof reason === 'string' ? reason : ''}   (`)).toBe(true);
      expect(/\ballow\b/.test(told)).toBe(allow === true);
    }
  });

  test('shows a refusal for arguments, and reports them as unknown', async () => {
    const { stdout } = await explain(of('argument.denied')['decision']);
    expect(stdout).toMatch(
      /^deny argument\.denied {3}\(route tools, policy tools\)\n {2}tools\.pay\.arguments\.\/amount: /,
    );
    expect(stdout).toContain('  arguments are not logged: the conditions on them are unknown\n');
    expect(stdout).toMatch(/^unknown {2}.*argument \/amount: .* unknown$/m);
    const json = JSON.parse((await explain(of('argument.denied')['decision'], '--json')).stdout) as unknown;
    expect(json).toMatchObject({ allow: false, reason: 'argument.denied', rule: 'tools.pay.arguments./amount' });
  });

  test('shows the reason, detail and status of a refusal by another stage', async () => {
    const denied = log.find(({ reason }) => reason === 'token.inactive' || reason === 'token.form');
    const { stdout } = await explain(denied?.['decision']);
    const [issuer] = (await loadConfig(join(folder, 'gateway.yaml'), {})).authorizationServers.values();
    expect(stdout).toBe(`deny ${String(denied?.['reason'])}   (route api, not refused by a policy)
  ${String(denied?.['detail'])}
  the client got 401; docs/reasons.md explains ${String(denied?.['reason'])} and its remedy
  the route accepts the audience "r"
  the route accepts jwt tokens of "${issuer?.issuer}"
`);
    expect((await explain(of('route.unknown')['decision'])).stdout).toMatch(/^deny route\.unknown {3}\(no route, /);
  });

  test('shows what an edited policy decided and what it would decide now', async () => {
    const edited = await folderWith({
      yaml: await readFile(join(folder, 'gateway.yaml')),
      files: {
        'policies/api.yaml': 'scope: write\n',
        'policies/tools.yaml': `${policies.tools}  other: {}\n`,
        'policies/shade.yaml': policies.shade,
      },
    });
    const now = async ({ decision }: Record<string, unknown>) =>
      (await outcome(['explain', '--decision', String(decision), '--log', join(folder, 'log')], edited)).stdout;
    expect(await now(of('tool.unlisted'))).toMatch(
      /^deny tool\.unlisted[^]*\n {2}the current policy would allow the call\n/,
    );
    expect(await now(of(undefined))).toMatch(
      /^allow [^]*\n {2}the current policy would deny the call: scope\.insufficient\n/,
    );
  });

  test('asks which decision is meant if several have the request id', async () => {
    const file = join(folder, 'twice');
    const shared = { request_id: 'of-a-proxy' };
    const lines = [
      { ...of('tool.unlisted'), ...shared },
      { ...of(undefined), ...shared },
    ] as readonly Readonly<Record<string, unknown>>[];
    await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const ask = (id: unknown) => outcome(['explain', '--decision', String(id), '--log', file], folder);
    const { code, stderr } = await ask(lines[0]?.['request_id']);
    const ids = lines.map(({ decision }) => String(decision)).join(', ');
    expect(code).toBe(2);
    const request = String(lines[0]?.['request_id']);
    expect(stderr).toContain(`has 2 decisions of the request ${request}; pass one of them: ${ids};`);
    expect((await ask(lines[1]?.['decision'])).stdout).toMatch(/^allow /);
  });

  test('reads log.file of the configuration without --log', async () => {
    const yaml = `${await readFile(join(folder, 'gateway.yaml'), 'utf8')}log: { file: log }\n`;
    await writeFile(join(folder, 'logging.yaml'), yaml);
    const id = String(of('tool.unlisted')['decision']);
    const { stdout } = await outcome(['explain', '--decision', id, '--config', 'logging.yaml'], folder);
    expect(stdout).toMatch(/^deny tool\.unlisted/);
  });

  test('refuses an unknown id, and an id without a log', async () => {
    expect(await explain('x')).toMatchObject({ code: 2 });
    expect(await outcome(['explain', '--decision', 'x'], folder)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--decision needs its log: pass --log FILE, or set log.file in gateway.yaml'),
    });
    const { code, stderr } = await outcome(['explain', '--decision', 'x', '--log', 'nothing'], folder);
    expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 1, lines: 1 });
  });
});

test('a log line has what the decision needs, and only claims that the policy reads', () => {
  expect(log[0]).toMatchObject({ input: { claims: { risk: 20, '/realm/roles': ['trader'] }, lifetime: 300 } });
  expect(JSON.stringify(log)).not.toContain(secretive);
  expect(JSON.stringify(log)).not.toContain('471147114711');
});

test('explain --token validates as the route does', async () => {
  const token = await world.issuer.sign({ aud: 'r', scope: 'read', risk: 72 });
  const explained = async (value: string): Promise<unknown> =>
    JSON.parse((await outcome(['explain', '--route', 'api', '--token', value, '--json'], folder)).stdout);
  expect(await explained(token)).toMatchObject({ allow: false, reason: 'claim.denied', rule: 'claims.risk' });
  const foreign = await world.issuer.sign({ aud: 'other' });
  expect(await explained(foreign)).toMatchObject({ allow: false, reason: 'token.audience' });
  const forged = `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBA' : 'AAAA'}`;
  expect(await explained(forged)).toMatchObject({ allow: false, reason: 'token.signature' });
});
