import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { outcome } from './process.ts';

const policies = {
  api: 'scope: read\nclaims:\n  risk: { below: 50 }\n  /realm/roles: { contains: trader }\n',
  tools: 'scope: read\ntools:\n  "get_*": {}\n  pay: { arguments: { /amount: { at_most: 10 } } }\n',
  shade: 'mode: shadow\nscope: write\n',
};
const secretive = 'never-in-the-log@example.com';

let issuer: Issuer;
let upstream: Upstream;
let folder: string;
let log: readonly Record<string, unknown>[];

beforeAll(async () => {
  [issuer, upstream] = await Promise.all([startIssuer(), startUpstream()]);
  const yaml = `
authorization_servers: { main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } } }
routes:
  - { name: api, path: /api, audience: r, policy: api, upstream: { url: ${upstream.url} } }
  - { name: tools, path: /mcp, protocol: mcp, audience: r, policy: tools, upstream: { url: ${upstream.url} } }
  - { name: shade, path: /shade, audience: r, policy: shade, upstream: { url: ${upstream.url} } }
`;
  const gateway = await startTestGateway({ yaml, policies });
  const token = (claims: object): Promise<string> =>
    issuer.sign({ aud: 'r', scope: 'read', email: secretive, realm: { roles: ['trader'] }, risk: 20, ...claims });
  const [alice, bob] = await Promise.all([token({}), token({ sub: 'bob', risk: 40 })]);
  const get = (path: string, bearer: string): Promise<Response> =>
    fetch(gateway.url + path, { headers: { authorization: `Bearer ${bearer}` } });
  const tool = (name: string, amount: number): Promise<Response> =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${alice}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { amount } } }),
    });
  await get('/api', alice);
  await get('/api', bob);
  await get('/api', bob);
  await get('/api', 'junk');
  await get('/nowhere', alice);
  await get('/shade', alice);
  await tool('get_price', 0);
  await tool('pay', 5);
  await tool('pay', 4711);
  await tool('other', 0);
  log = await gateway.decisions(10);

  folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  await writeFile(join(folder, 'gateway.yaml'), `public_url: http://gateway.test\n${yaml}`);
  await writePolicies('policies', policies);
  const lines = [
    'not JSON',
    'gateway-1  | {"msg":"listening"}',
    ...log.map((line) => `gateway-1  | ${JSON.stringify(line)}`),
  ];
  await writeFile(join(folder, 'log'), lines.join('\n'));
  await gateway.close();
});
afterAll(async () => {
  await Promise.all([issuer.close(), upstream.close(), rm(folder, { recursive: true })]);
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

describe('sallyport replay, contract §4', () => {
  test('nothing would change by the policies that decided', async () => {
    expect(await replayed()).toEqual({ decided: 8, passed_over: 2, changes: [] });
  });

  test('what would change, for whom, how often', async () => {
    const { changes } = await replayed({ api: policies.api.replace('50', '30') });
    expect(changes).toEqual([
      {
        change: 'would be denied',
        route: 'api',
        called: 'GET',
        subject: 'bob',
        before: 'allow',
        after: 'deny claim.denied',
        count: 2,
      },
    ]);
  });

  test('a claim inside another, a tool that becomes allowed, a shadow that is enforced', async () => {
    const { changes } = await replayed({
      api: policies.api.replace('trader', 'admin'),
      tools: `${policies.tools}  other: {}\n`,
      shade: 'scope: write\n',
    });
    const told = changes.map(({ change, route, called, count }) => [change, route, called, count]);
    expect(told).toHaveLength(4);
    expect(told).toEqual(
      expect.arrayContaining([
        ['would be denied', 'api', 'GET', 2],
        ['would be denied', 'api', 'GET', 1],
        ['would be allowed', 'tools', 'other', 1],
        ['would be denied', 'shade', 'GET', 1],
      ]),
    );
  });

  test('what hangs on arguments, which no log has, is said to', async () => {
    const { changes } = await replayed({ tools: policies.tools.replace('10', '20') });
    expect(changes.map(({ change, called, after, count }) => [change, called, after, count])).toEqual([
      ['unknown', 'pay', 'hangs on arguments, which no log has', 1],
      ['unknown', 'pay', 'hangs on arguments, which no log has', 1],
    ]);
  });

  test('for people: a line each, then a summary', async () => {
    await writePolicies('people', { ...policies, api: policies.api.replace('50', '30') });
    const { stdout } = await outcome(['replay', 'log', '--policies', 'people'], folder);
    expect(stdout).toBe(
      `      2  would be denied            api  GET  bob: allow → deny claim.denied

8 decisions, 2 would change or cannot be told, for 1 caller (2 more were not a policy's)
`,
    );
  });

  test('policies with a mistake, a folder or a log that is not there', async () => {
    await writePolicies('wrong', { api: 'scoop: read\n' });
    expect(await outcome(['replay', 'log', '--policies', 'wrong'], folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('wrong/api.yaml:1:1: scoop: unknown key'),
    });
    expect(await outcome(['replay', 'log', '--policies', 'nowhere'], folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nowhere: is not a folder'),
    });
    expect(await outcome(['replay', 'nothing'], folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing'),
    });
    expect(await outcome(['replay'], folder)).toMatchObject({ code: 2 });
  });
});

describe('sallyport explain --decision', () => {
  test('explains that very decision from the log', async () => {
    const denied = log.find(({ tool }) => tool === 'other');
    const { code, stdout } = await outcome(
      ['explain', '--decision', String(denied?.['decision']), '--log', 'log', '--json'],
      folder,
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ route: 'tools', allow: false, reason: 'tool.unlisted', rule: 'tools' });
  });
  test('what another stage refused, by its reason', async () => {
    const denied = log.find(({ reason }) => reason === 'token.inactive' || reason === 'token.form');
    const { code, stderr } = await outcome(
      ['explain', '--decision', String(denied?.['decision']), '--log', 'log'],
      folder,
    );
    expect(code).toBe(2);
    expect(stderr).toContain(String(denied?.['reason']));
  });
  test('an id that the log does not have; no log', async () => {
    expect(await outcome(['explain', '--decision', 'x', '--log', 'log'], folder)).toMatchObject({ code: 2 });
    expect(await outcome(['explain', '--decision', 'x'], folder)).toMatchObject({ code: 2 });
  });
});

test('a line of the log has what the decision needs, and no claim that the policy does not read', () => {
  expect(log[0]).toMatchObject({ input: { claims: { risk: 20, '/realm/roles': ['trader'] }, lifetime: 300 } });
  expect(JSON.stringify(log)).not.toContain(secretive);
  expect(JSON.stringify(log)).not.toContain('4711');
});

test('explain --token validates as the route does', async () => {
  const token = await issuer.sign({ aud: 'r', scope: 'read', risk: 72 });
  const explained = async (value: string): Promise<Record<string, unknown>> =>
    JSON.parse((await outcome(['explain', '--route', 'api', '--token', value, '--json'], folder)).stdout) as Record<
      string,
      unknown
    >;
  expect(await explained(token)).toMatchObject({ allow: false, reason: 'claim.denied', rule: 'claims.risk' });
  expect(await explained(await issuer.sign({ aud: 'other' }))).toMatchObject({
    allow: false,
    reason: 'token.audience',
  });
  const forged = `${token.slice(0, -4)}${token.endsWith('AAAA') ? 'BBBA' : 'AAAA'}`;
  expect(await explained(forged)).toMatchObject({ allow: false, reason: 'token.signature' });
});
