import { describe, expect, test } from 'vitest';
import policyTestSchema from '../../schema/policy-test.schema.json' with { type: 'json' };
import type { PolicyReason } from '../../src/model/reasons.ts';
import { base, inFolder } from '../config/folder.ts';
import { outcome } from './run.ts';

/** A gateway with a scope hierarchy and an MCP policy, and one file of tests. */
function run(tests: string | Buffer, files: Readonly<Record<string, string>> = {}): ReturnType<typeof outcome> {
  const policy = `scope: read
tools:
  get_*: {}
  pay: { scope: payments, claims: { role: trader }, arguments: { /amount: { at_most: 1000 } }, max_lifetime: 60s }
resources: { "p://*": { claims: { iss: https://other.example } } }
prompts: { hello: {} }
`;
  const all = { 'policies/mcp.yaml': policy, 'policies/mcp.test.yaml': tests, ...files };
  return inFolder({ yaml: `${base}scopes: { write: [read] }\n`, files: all }, async (folder) => {
    const { code, stdout, stderr } = await outcome(['test'], folder);
    // How much of a policy is tested is another matter: coverage.test.ts.
    return { code, stdout: stdout.replace(/; \d+ of \d+ rules decided by a test/, ''), stderr };
  });
}

const pay = 'when: { tool: pay, arguments: { amount: 10 } }';

/** Each as a file of one test. */
const passing = [
  `given: { scope: read payments, claims: { role: trader }, lifetime: 60s }\n  ${pay}\n  then: allow`,
  `given: { scope: [read, payments], claims: { role: trader }, lifetime: 1m }\n  ${pay}\n  then: allow`,
  `given: { scope: read, claims: { role: trader } }\n  ${pay}\n  then: { deny: scope.insufficient, challenge: read payments }`,
  `given: { scope: read, claims: { role: trader } }\n  ${pay}\n  then:\n    deny: scope.insufficient`,
  `given: { scope: read payments, claims: { role: trader } }\n  ${pay}\n  then: { deny: lifetime.exceeded, challenge: "" }`,
  `given: { scope: read payments, claims: { role: trader }, lifetime: 61s }\n  ${pay}\n  then: { deny: lifetime.exceeded }`,
  `given: { scope: read }\n  ${pay}\n  then: { deny: claim.denied }`,
  'given: { claims: { role: trader } }\n  when: { tool: pay, arguments: { amount: 1001 } }\n  then: { deny: argument.denied }',
  'given: { scope: read }\n  when: { tool: get_x }\n  then: allow',
  // By the hierarchy.
  'given: { scope: write }\n  when: { tool: get_x }\n  then: allow',
  'given: { scope: read }\n  when: { tool: x }\n  then: { deny: tool.unlisted }',
  'given: { scope: read, issuer: https://other.example }\n  when: { resource: p://x }\n  then: allow',
  'given: { scope: read }\n  when: { resource: p://x }\n  then: { deny: claim.denied }',
  'given: { scope: read, issuer: https://other.example }\n  when: { template: "p://{x}" }\n  then: allow',
  'given: { scope: read }\n  when: { resource: q:x, method: resources/subscribe }\n  then: { deny: resource.unlisted }',
  'given: { scope: read }\n  when: { prompt: hello, arguments: { a: b } }\n  then: allow',
  'given: { scope: read }\n  when: { prompt: other }\n  then: { deny: prompt.unlisted }',
  'given: { scope: read }\n  when: { method: ping }\n  then: allow',
  'given: { scope: read }\n  when: { method: tasks/list }\n  then: { deny: method.unlisted }',
  'given: { scope: read }\n  when: {}\n  then: allow',
  'given: {}\n  when: {}\n  then: { deny: scope.insufficient, challenge: read }',
];

test('R-174: prints the tests that pass in a table', async () => {
  const { code, stdout, stderr } = await run(passing.map((each) => `- name: it\n  ${each}\n`).join(''));
  expect(stdout).toBe(
    `${passing.map(() => 'policies/mcp.test.yaml  it  ok\n').join('')}\n${passing.length} passed, 0 failed\n`,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('tests each policy by its own file', async () => {
  const shadow = '- name: it would be denied\n  given: {}\n  when: {}\n  then: shadow\n';
  const first = '- name: a token\n  given: {}\n  when: {}\n  then: { deny: scope.insufficient }\n';
  const files = {
    'policies/b.yaml': 'mode: shadow\nscope: x',
    'policies/b.test.yaml': shadow,
    'policies/.b.test.yaml': 'x',
  };
  expect(await run(first, files)).toEqual({
    code: 0,
    stdout: `policies/b.test.yaml    it would be denied  ok
policies/mcp.test.yaml  a token             ok

2 passed, 0 failed
`,
    stderr: '',
  });
});

describe('R-174: fails a test whose policy decides otherwise', () => {
  test.each([
    [
      'given: { scope: read }\n  when: { tool: get_x }\n  then: { deny: tool.unlisted }',
      'deny tool.unlisted',
      'allow, by tools.get_*',
    ],
    ['given: { scope: read }\n  when: { tool: get_x }\n  then: shadow', 'shadow', 'allow, by tools.get_*'],
    [
      'given: { scope: other }\n  when: { tool: get_x }\n  then: allow',
      'allow',
      'deny scope.insufficient, challenge "read", by scope: wanted scope "read", missing "read"',
    ],
    [
      `given: { scope: read }\n  ${pay}\n  then: { deny: scope.insufficient }`,
      'deny scope.insufficient',
      'deny claim.denied, by tools.pay.claims.role: claim role: wanted "trader", found nothing',
    ],
    [
      `given: { claims: { role: trader } }\n  ${pay}\n  then: { deny: scope.insufficient, challenge: payments read }`,
      'deny scope.insufficient, challenge "payments read"',
      'deny scope.insufficient, challenge "read payments", by scope: wanted scope "read payments", missing "read payments"',
    ],
    [
      `given: { claims: { role: trader } }\n  ${pay}\n  then: { deny: scope.insufficient, challenge: "" }`,
      'deny scope.insufficient, challenge ""',
      'deny scope.insufficient, challenge "read payments", by scope: wanted scope "read payments", missing "read payments"',
    ],
  ])('%s', async (tested, wanted, found) => {
    const ok = '- name: first of all\n  given: { scope: read }\n  when: {}\n  then: allow\n';
    expect(await run(`${ok}- name: it\n  ${tested}\n`)).toEqual({
      code: 1,
      stdout: `policies/mcp.test.yaml  first of all  ok
policies/mcp.test.yaml  it            FAILED
  policies/mcp.test.yaml:5
    wanted ${wanted}
    found  ${found}

1 passed, 1 failed
`,
      stderr: '',
    });
  });

  test('fails a test that wants allow if the policy is in shadow mode', async () => {
    const files = {
      'policies/b.yaml': 'mode: shadow\nscope: x',
      'policies/b.test.yaml': '- name: it\n  given: {}\n  when: {}\n  then: allow\n',
    };
    const { code, stdout } = await run('- name: it\n  given: { scope: read }\n  when: {}\n  then: allow', files);
    expect(code).toBe(1);
    expect(stdout).toContain(
      '    found  shadow scope.insufficient, challenge "x", by scope: wanted scope "x", missing "x"\n',
    );
  });

  test('prints a name that cannot overwrite another line', async () => {
    const { stdout } = await run('- name: "a\\e[2K\\nb"\n  given: { scope: read }\n  when: {}\n  then: allow');
    expect(stdout).toContain('policies/mcp.test.yaml  a\u{FFFD}[2K\u{FFFD}b  ok\n');
  });
});

describe('refuses a test file', () => {
  const good = 'given: {}, when: {}, then: allow';
  test.each<[string, string | Buffer, string]>([
    ['empty', '', ':1:1: is empty, so that it tests nothing'],
    ['no tests', '[]', ':1:1: must not be empty'],
    ['a mapping', '{}', ':1:1: expected a list, found a mapping; begin each entry with "- "'],
    ['not YAML', '- {', ':1:3: this { is not closed; add }'],
    ['bytes', Buffer.from([0xff]), ': is not UTF-8 text'],
    [
      'an unknown key',
      `- { nam: x, name: x, ${good} }`,
      ':1:5: [0].nam: unknown key (did you mean name?); accepted: name, given, when, then',
    ],
    ['a missing key', '- { name: x, given: {}, when: {} }', ':1:3: [0]: missing key: then'],
    [
      'a scope',
      `- { name: x, given: { scope: "a  b" }, when: {}, then: allow }`,
      ':1:30: [0].given.scope: "a  b" is not in the form of "read" or "read payments"',
    ],
    [
      'a lifetime',
      `- { name: x, given: { lifetime: 60 }, when: {}, then: allow }`,
      ':1:33: [0].given.lifetime: expected in the form of "60s" or "5m", found 60',
    ],
    [
      'an unknown claim key',
      `- { name: x, given: { claim: {} }, when: {}, then: allow }`,
      ':1:23: [0].given.claim: unknown key (did you mean claims?); accepted: scope, claims, lifetime, issuer',
    ],
    [
      'an outcome',
      '- { name: x, given: {}, when: {}, then: deny }',
      ':1:41: [0].then: "deny" is not allow, shadow or { deny: REASON }',
    ],
    [
      'a reason',
      '- { name: x, given: {}, when: {}, then: { deny: token.expired } }',
      ':1:49: [0].then.deny: "token.expired" is not ',
    ],
    [
      'two things',
      '- { name: x, given: {}, when: { tool: a, prompt: b }, then: allow }',
      ':1:42: [0].when.prompt: one call cannot act on a tool and a prompt',
    ],
    [
      'arguments of nothing',
      '- { name: x, given: {}, when: { resource: "a:b", arguments: {} }, then: allow }',
      ':1:50: [0].when.arguments: only a tool or a prompt takes arguments',
    ],
  ])('%s', async (_, tests, line) => {
    const { code, stdout, stderr } = await run(tests);
    expect(stderr).toContain(`policies/mcp.test.yaml${line}`);
    expect(stderr).toMatch(/\ngateway\.yaml: 1 problem\n$/);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  });

  test('that tests no policy', async () => {
    const tests = `- { name: x, ${good} }`;
    expect(await run(tests, { 'policies/nope.test.yaml': tests, 'policies/nope2.test.yaml': '' })).toEqual({
      code: 1,
      stdout: '',
      stderr: `policies/nope.test.yaml: there is no nope.yaml to test
policies/nope2.test.yaml: there is no nope2.yaml to test
policies/nope2.test.yaml:1:1: is empty, so that it tests nothing
gateway.yaml: 3 problems
`,
    });
  });
});

test('reports the problems of the configuration first', async () => {
  await inFolder({ yaml: 'x: 1', files: { 'policies/a.test.yaml': 'x' } }, async (folder) => {
    const { code, stdout, stderr } = await outcome(['test'], folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('gateway.yaml:1:1: x: unknown key');
  });
});

test('succeeds without tests', async () => {
  await inFolder({ yaml: base, files: { 'policies/a.yaml': '{}' } }, async (folder) => {
    const stdout = 'policies: no tests (NAME.test.yaml)\n';
    expect(await outcome(['test'], folder)).toEqual({ code: 0, stdout, stderr: '' });
    expect(await outcome(['test', '--config', `${folder}/gateway.yaml`])).toMatchObject({ code: 0 });
  });
});

test('refuses wrong usage', async () => {
  expect(await outcome(['test', '--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('sallyport test [TEXT] [OPTIONS]\n') as string,
  });
  expect(await outcome(['test', 'a', 'b'])).toMatchObject({ code: 2, stdout: '' });
  expect(await outcome(['test', '--frobnicate'])).toMatchObject({ code: 2, stdout: '' });
  expect(await outcome(['test', 'no such test'])).toMatchObject({ code: 1, stdout: '' });
});

test('the policies of the repository pass their tests', async () => {
  const { code, stdout, stderr } = await outcome(['test']);
  expect(stdout).toMatch(/\n\d+ passed, 0 failed; (\d+) of \1 rules decided by a test\n$/);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('a test can want each reason of a policy', () => {
  const reasons: Record<PolicyReason, true> = {
    'scope.insufficient': true,
    'claim.denied': true,
    'argument.denied': true,
    'lifetime.exceeded': true,
    'alternatives.exhausted': true,
    'exclusion.matched': true,
    'tool.unlisted': true,
    'resource.unlisted': true,
    'prompt.unlisted': true,
    'method.unlisted': true,
    'policy.error': true,
    'history.missing': true,
    'history.forbidden': true,
    'quota.exceeded': true,
  };
  expect(policyTestSchema.$defs.reason.enum).toEqual(Object.keys(reasons));
});
