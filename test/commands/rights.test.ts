import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { load } from '../../src/serve/config/load.ts';
import { folderWith } from '../serve/config/folder.ts';
import { outcome } from './run.ts';

const gateway = (more = '', log = ''): string => `public_url: http://g.test
authorization_servers: { main: { issuer: http://as.test, jwt: { algorithms: [RS256] } } }
scopes: { write: [read] }
${log}
routes:
  - { name: tools, path: /mcp, protocol: mcp, audience: r, policy: tools, upstream: { url: http://up.test } }
${more}`;
const policy = `scope: read
tools:
  get_price: {}
  'list_*': {}
  pay: { scope: pay, arguments: { /amount: { at_most: 5 } }, max_lifetime: 60s, quota: [{ count: 1, per: 1h }] }
  audit: { claims: { role: auditor } }
  sweep: { actors: { current: robot } }
`;

let folder: string;
let revision: string;
beforeEach(async () => {
  folder = await folderWith({ yaml: gateway(), files: { 'policies/tools.yaml': policy } });
});

let id = 0;
const line = (members: object): string => {
  const known = { msg: 'decision', time: '2026-01-31T10:00:00.000Z', decision: `d${(id += 1)}`, request_id: 'r' };
  const call = { route: 'tools', allow: true, subject: 'alice', issuer: 'http://as.test', method: 'tools/call' };
  return JSON.stringify({ ...known, ...call, scope: 'read', policy: revision, duration_ms: 1, ...members });
};
const uses = (tool: string, rule: string, members: object = {}): string =>
  line({ tool, rule: `tools.${rule}`, ...members });
const rights = async (lines: readonly string[], ...options: readonly string[]) => {
  await writeFile(join(folder, 'log'), lines.join('\n'));
  return outcome(['rights', 'log', ...options], folder);
};
const json = async (lines: readonly string[], ...options: readonly string[]) => {
  const { stdout, ...rest } = await rights(lines, '--json', ...options);
  expect(rest).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as { callers: Record<string, unknown>[]; unused: string[] };
};

beforeEach(async () => {
  const { config } = await load(join(folder, 'gateway.yaml'), process.env);
  revision = config.policies.get('tools')?.revision ?? '';
});

describe('sallyport rights', () => {
  test('R-356: says what a caller used, could use, was refused and was not shown, and what no caller used', async () => {
    const lines = [
      uses('get_price', 'get_price'),
      uses('get_price', 'get_price', { time: '2026-01-31T11:00:00.000Z' }),
      uses('list_a', 'list_*', { time: '2026-01-30T10:00:00.000Z' }),
      uses('pay', 'pay', { allow: false, reason: 'scope.insufficient', rule: 'tools.pay.scope' }),
      line({ method: 'tools/list', decision: 'l1', rule: 'policy' }),
      JSON.stringify({
        msg: 'list',
        decision: 'l1',
        route: 'tools',
        method: 'tools/list',
        shown: 3,
        withheld: ['audit'],
      }),
      uses('pay', 'pay', { subject: 'bob', scope: 'write pay', input: { claims: { role: 'auditor' } } }),
    ];
    expect(await json(lines)).toEqual({
      callers: [
        {
          caller: 'alice',
          issuer: 'http://as.test',
          used: [
            { entry: 'tools.get_price', count: 2, last: '2026-01-31T11:00:00.000Z' },
            { entry: 'tools.list_*', count: 1, last: '2026-01-30T10:00:00.000Z' },
          ],
          could: [],
          refused: ['tools.pay', 'tools.audit'],
          unknown: [],
          lost: [],
          gained: [],
        },
        {
          caller: 'bob',
          issuer: 'http://as.test',
          used: [{ entry: 'tools.pay', count: 1, last: '2026-01-31T10:00:00.000Z' }],
          could: ['tools.get_price', 'tools.list_*', 'tools.audit'],
          refused: [],
          unknown: [],
          lost: [],
          gained: [],
        },
      ],
      unused: ['tools.audit', 'tools.sweep'],
    });
  });

  test('the last scopes, actors and claims of a caller decide, in any order of files', async () => {
    const late = { time: '2026-02-01T10:00:00.000Z', scope: 'read pay', actors: ['robot'] };
    const { callers } = await json([uses('get_price', 'get_price', late), uses('get_price', 'get_price')]);
    expect(callers).toMatchObject([{ could: ['tools.list_*', 'tools.pay', 'tools.sweep'] }]);
  });

  test('an entry is unknown whose claim a line of another policy need not have', async () => {
    const [other, told] = [
      uses('get_price', 'get_price', { policy: 'tools@000000000000' }),
      uses('get_price', 'get_price', { policy: 'tools@000000000000', subject: 'bob', claims: { role: 'auditor' } }),
    ];
    const { callers } = await json([other, told]);
    expect(callers).toMatchObject([
      { unknown: ['tools.audit'] },
      { unknown: [], could: ['tools.list_*', 'tools.audit'] },
    ]);
  });

  test('compares with policies of another time', async () => {
    const before = await folderWith({
      yaml: gateway(),
      files: {
        'policies/tools.yaml': 'scope: read\ntools: { get_price: {}, drop: {}, audit: {}, list_x: { scope: pay } }\n',
      },
    });
    const { callers } = await json([uses('get_price', 'get_price')], '--policies', join(before, 'policies'));
    expect(callers).toMatchObject([{ lost: ['tools.drop', 'tools.audit'], gained: ['tools.list_*'] }]);
  });

  test.each([
    ['client', ['app']],
    ['claim:role', ['auditor']],
  ])('callers by %s', async (by, expected) => {
    const { callers } = await json(
      [
        uses('get_price', 'get_price', { client_id: 'app', input: { claims: { role: 'auditor' } } }),
        uses('get_price', 'get_price', { subject: 'bob', client_id: 'app', input: { claims: { role: 'auditor' } } }),
      ],
      '--by',
      by,
    );
    expect(callers.map(({ caller }) => caller)).toEqual(expected);
    expect(callers).toMatchObject([{ used: [{ count: 2 }] }]);
  });

  test('a rate, a bad token and an outage are no refusals of rights', async () => {
    const refused = { allow: false, reason: 'rate.exceeded', rule: undefined };
    const { callers } = await json([uses('pay', 'pay', refused), uses('get_price', 'get_price')]);
    expect(callers).toMatchObject([{ refused: [] }]);
  });

  test('prints a table', async () => {
    const { stdout } = await rights([uses('get_price', 'get_price')]);
    expect(stdout).toBe(`1 decision of 1 caller

alice   http://as.test
  used     tools.get_price        1  2026-01-31T10:00:00.000Z
  could    tools.list_*

used by no caller:
  tools.list_*
  tools.pay
  tools.audit
  tools.sweep
`);
  });

  test('exits with 1 without a decision, and with 2 for another owner', async () => {
    expect(await rights(['{}'])).toMatchObject({ code: 1, stderr: expect.stringContaining('no decision') as string });
    expect(await rights([uses('a', 'a')], '--by', 'person')).toMatchObject({ code: 2 });
  });

  test('warns of a log of denials alone', async () => {
    folder = await folderWith({
      yaml: gateway('', 'log: { decisions: denials }'),
      files: { 'policies/tools.yaml': policy },
    });
    const { stderr } = await rights([uses('get_price', 'get_price')]);
    expect(stderr).toContain('warning: log.decisions is denials');
  });

  test('names the policy of an entry where routes have several', async () => {
    const more = '  - { name: b, path: /b, audience: r, policy: other, upstream: { url: http://up.test } }';
    folder = await folderWith({
      yaml: gateway(more),
      files: { 'policies/tools.yaml': policy, 'policies/other.yaml': 'requests: { GET /b: {} }' },
    });
    const { callers, unused } = await json([uses('get_price', 'get_price')]);
    expect(callers).toMatchObject([{ used: [{ entry: 'tools: tools.get_price' }] }]);
    expect(unused).toContain('other: requests["GET /b"]');
    expect((await json([uses('get_price', 'get_price')], '--route', 'tools')).unused).toContain('tools.pay');
  });
});

test('the tools that a call called are used', async () => {
  const { callers } = await json([uses('get_price', 'get_price', { inner: ['list_x', 'audit'] })]);
  expect(callers[0]).toMatchObject({
    used: expect.arrayContaining([
      expect.objectContaining({ entry: 'tools.list_*' }),
      expect.objectContaining({ entry: 'tools.audit' }),
    ]),
  });
});
