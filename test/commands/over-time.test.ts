import { describe, expect, test } from 'vitest';
import { base, edited } from '../serve/config/folder.ts';
import { outcomeIn } from './run.ts';

const policy = `tools:
  approve: {}
  disburse:
    after: { tool: approve, within: 1h, same: [/claim_id] }
    quota:
      - { count: 2, per: 1h }
      - { sum: /amount, at_most: 50.5, per: 1d, by: tenant }
  read_secret: {}
  "export_*": {}
  send_email:
    never_after: { tool: [read_secret, "export_*"], within: 1d }
`;

const alice = 'claims: { sub: alice, tenant: acme }';
const disburse = 'when: { tool: disburse, arguments: { claim_id: 7, amount: 20 } }';
const approved = '{ tool: approve, arguments: { claim_id: 7 }, ago: 10m }';
const paid = (amount: number, ago: string, more = ''): string =>
  `{ tool: disburse, arguments: { claim_id: 7, amount: ${amount} }, ago: ${ago}${more} }`;
const mail = 'when: { tool: send_email }';

const example = (history: string, when: string, then: string): string =>
  `- name: it\n  given: { ${alice}, history: [${history}] }\n  ${when}\n  then: ${then}\n`;

/** Each: the earlier calls, the call, and what is decided. test/policy-parts/history/counting.test.ts has the table of the rules. */
const examples: readonly (readonly [history: string, call: string, then: string])[] = [
  [approved, disburse, 'allow'],
  ['', disburse, '{ deny: history.missing }'],
  // Windows: less than an hour ago.
  [approved.replace('10m', '60m'), disburse, '{ deny: history.missing }'],
  // The same value, of the same type, in both calls.
  [approved.replace('7', '"7"'), disburse, '{ deny: history.missing }'],
  // An answer without an error, to the same subject.
  [approved.replace('ago', 'outcome: error, ago'), disburse, '{ deny: history.missing }'],
  [approved.replace('ago', 'outcome: unanswered, ago'), disburse, '{ deny: history.missing }'],
  [approved.replace('ago', 'subject: bob, ago'), disburse, '{ deny: history.missing }'],
  // A count for each subject.
  [`${approved}, ${paid(1, '30m')}, ${paid(1, '20m')}`, disburse, '{ deny: quota.exceeded }'],
  [`${approved}, ${paid(1, '30m', ', outcome: error')}, ${paid(1, '20m')}`, disburse, 'allow'],
  [`${approved}, ${paid(1, '30m', ', outcome: unanswered')}, ${paid(1, '20m')}`, disburse, '{ deny: quota.exceeded }'],
  // A sum for each tenant.
  [`${approved}, ${paid(30.6, '23h', ', subject: bob')}`, disburse, '{ deny: quota.exceeded }'],
  // Names and patterns; what is in progress counts.
  ['', mail, 'allow'],
  ['{ tool: export_all, ago: 0s, outcome: unanswered }', mail, '{ deny: history.forbidden }'],
];

function run(tests: string, ...args: readonly string[]): ReturnType<typeof outcomeIn> {
  const files = { 'policies/mcp.yaml': policy, 'policies/mcp.test.yaml': tests };
  return outcomeIn({ yaml: base, files }, ['test', ...args]);
}

describe('R-273: sallyport test decides examples with a history', () => {
  test('by the rules over time of the policy', async () => {
    const { code, stdout } = await run(examples.map((row) => example(...row)).join(''));
    expect(stdout).toContain(`\n${examples.length} passed, 0 failed`);
    expect(code).toBe(0);
  });

  test('and says what it found', async () => {
    const { code, stdout } = await run(`- name: paid\n  given: { ${alice} }\n  ${disburse}\n  then: allow\n`);
    expect(code).toBe(1);
    expect(stdout).toContain(
      '    wanted allow\n    found  deny history.missing, by tools.disburse.after: ' +
        'wanted an answered call of approve within 1h with the same /claim_id, found none\n',
    );
  });

  test('of a caller with a subject, unless the example says that there is none', async () => {
    const { stdout } = await run(`
- { name: a subject, given: { history: [{ tool: read_secret, ago: 1m }] }, ${mail}, then: { deny: history.forbidden } }
- { name: others, given: { history: [{ tool: read_secret, ago: 1m, subject: bob }] }, ${mail}, then: allow }
- { name: none, given: { claims: { sub: null } }, ${mail}, then: { deny: claim.denied } }
- { name: a number, given: { claims: { sub: 7 } }, ${mail}, then: { deny: claim.denied } }
`);
    expect(stdout).toContain('\n4 passed, 0 failed');
  });

  test('with other reasons first, and without history for a call that the policy refuses', async () => {
    const { stdout } = await run(
      `- name: it\n  given: { claims: { sub: alice }, history: [${approved}] }\n  ${disburse}\n  then: { deny: claim.denied }\n` +
        `- name: negative\n  given: { ${alice} }\n  ${disburse.replace('20', '-1')}\n  then: { deny: argument.denied }\n`,
    );
    expect(stdout).toContain('\n2 passed, 0 failed');
  });

  test('and counts its rules over time for the coverage', async () => {
    const tests = example(approved, disburse, 'allow') + example('', disburse, '{ deny: history.missing }');
    const { stdout } = await run(tests, '--coverage');
    const gaps = stdout.split('\n').filter((line) => /after|quota/.test(line));
    expect(gaps).toEqual([
      'policies/mcp.yaml: tools.disburse.quota[0]: no test is denied by it',
      'policies/mcp.yaml: tools.disburse.quota[1]: no test is denied by it',
      'policies/mcp.yaml: tools.send_email.never_after: no test passes it',
    ]);
  });

  test('of a policy in shadow mode as such', async () => {
    const files = {
      'policies/mcp.yaml': `mode: shadow\n${policy}`,
      'policies/mcp.test.yaml': `- name: it\n  given: { ${alice} }\n  ${disburse}\n  then: shadow\n`,
    };
    const { stdout } = await outcomeIn({ yaml: base, files }, ['test']);
    expect(stdout).toContain('\n1 passed, 0 failed');
  });
});

const situation = {
  yaml: edited(
    ['name: api', 'name: tools\n    protocol: mcp\n    policy: mcp'],
    ['path: /api', 'path: /mcp'],
    ['audience: https://api.example', 'audience: http://127.0.0.1:8080/mcp'],
  ),
  files: {
    'policies/mcp.yaml': policy,
    'earlier.yaml': `- ${approved}\n- ${paid(30.5, '50m')}\n- ${paid(1, '20m')}\n`,
    'broken.yaml': '- tool: approve\n',
  },
};
const explain = (...args: readonly string[]): ReturnType<typeof outcomeIn> =>
  outcomeIn(situation, ['explain', '--route', 'tools', '--claims', '{"sub":"alice","tenant":"acme"}', ...args]);
const pay = ['--tool', 'disburse', '--arguments', '{"claim_id":7,"amount":20}'];

describe('R-274: sallyport explain shows what each rule over time found', () => {
  test('among the calls of a file', async () => {
    const { code, stdout } = await explain(...pay, '--history', 'earlier.yaml');
    expect(code).toBe(0);
    expect(stdout.split('\n').filter((line) => /after|quota/.test(line))).toEqual([
      'deny quota.exceeded   (route tools, policy mcp)',
      '  tools.disburse.quota[0]: wanted at most 2 calls per 1h, found more with this call',
      expect.stringMatching(/^holds {2}tools\.disburse\.after +an answered call of .* +a call 600 s ago$/),
      expect.stringMatching(/^fails .* 2 used by 2 calls, 0 left; room for this call in 600 s$/),
      expect.stringMatching(/^fails .* 31\.5 used by 2 calls, 19 left; room for this call in 83400 s$/),
    ]);
  });

  test('and that it is unknown without such a file', async () => {
    const { stdout } = await explain(...pay);
    expect(stdout).toMatch(/^allow, if the policy accepts the earlier calls {3}/);
    expect(stdout).toContain('without --history, the rules over time are unknown\n');
    const half = await explain('--tool', 'disburse', '--history', 'earlier.yaml');
    expect(half.stdout).toMatch(/^deny quota.exceeded/);
    const free = await explain('--tool', 'send_email', '--history', 'earlier.yaml');
    expect(free.stdout).toMatch(/^allow {3}/);
    expect(free.stdout).toMatch(/^holds {2}tools\.send_email +nothing but its rules over time +/m);
    const approve = await explain('--tool', 'approve');
    expect(approve.stdout).toMatch(/^holds {2}tools\.approve +nothing more +/m);
  });

  test('and without such a file what an allowed call depends on, also for programs', async () => {
    const told = async (...more: readonly string[]): Promise<unknown> =>
      JSON.parse((await explain(...pay, '--json', ...more)).stdout);
    expect(await told()).toMatchObject({ allow: true, depends_on: ['earlier_calls'] });
    expect(await told('--history', 'earlier.yaml')).not.toHaveProperty('depends_on');
  });

  test('and refuses without such a file what no earlier calls could allow', async () => {
    const { stdout } = await explain('--tool', 'disburse', '--arguments', '{"amount":20}');
    expect(stdout).toMatch(/^deny history\.missing {3}/);
    expect(stdout).toMatch(/^fails +tools\.disburse\.after .* no value that could be the same$/m);
    expect(stdout).toMatch(/^unknown +tools\.disburse\.quota\[0\] /m);
  });

  test('refuses a file that is no such list, with its place', async () => {
    const broken = await explain(...pay, '--history', 'broken.yaml');
    expect(broken).toMatchObject({
      code: 1,
      stderr: 'broken.yaml:1:3: [0]: missing key: ago\nbroken.yaml: 1 problem\n',
    });
    const none = await explain(...pay, '--history', 'none.yaml');
    expect(none).toMatchObject({ code: 1, stderr: 'sallyport: none.yaml: does not exist\n' });
  });
});
