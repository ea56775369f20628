import { describe, expect, test } from 'vitest';
import { base, folderWith, inFolder } from '../serve/config/folder.ts';
import { outcome, outcomeIn } from './run.ts';

/** A gateway with a scope hierarchy and an MCP policy, and one file of tests. */
function run(tests: string, files: Readonly<Record<string, string>> = {}): ReturnType<typeof outcome> {
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

// test/policy-files/policy-tests.test.ts and test/core/policy have the tables of what a test may say and how a policy decides.
const passing = [
  `given: { scope: read payments, claims: { role: trader }, lifetime: 60s }\n  ${pay}\n  then: allow`,
  `given: { scope: [read, payments], claims: { role: trader }, lifetime: 1m }\n  ${pay}\n  then: allow`,
  `given: { scope: read, claims: { role: trader } }\n  ${pay}\n  then: { deny: scope.insufficient, challenge: read payments }`,
  `given: { scope: read payments, claims: { role: trader }, lifetime: 61s }\n  ${pay}\n  then: { deny: lifetime.exceeded, challenge: "" }`,
  // By the hierarchy.
  'given: { scope: write }\n  when: { tool: get_x }\n  then: allow',
  'given: { scope: read, issuer: https://other.example }\n  when: { resource: p://x }\n  then: allow',
  'given: { scope: read }\n  when: { resource: q:x, method: resources/subscribe }\n  then: { deny: resource.unlisted }',
  'given: { scope: read }\n  when: { prompt: hello, arguments: { a: b } }\n  then: allow',
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

describe('R-174: fails', () => {
  test('each test whose policy decides otherwise, with what it wanted and what it found', async () => {
    const tests = `- { name: passes, given: { scope: read }, when: {}, then: allow }
- { name: denied, given: { scope: read }, when: { tool: get_x }, then: { deny: tool.unlisted } }
- { name: shadow, given: { scope: read }, when: { tool: get_x }, then: shadow }
- { name: scope, given: { scope: other }, when: { tool: get_x }, then: allow }
- { name: reason, given: { scope: read }, ${pay}, then: { deny: scope.insufficient } }
- { name: order, given: { claims: { role: trader } }, ${pay}, then: { deny: scope.insufficient, challenge: payments read } }
- { name: none, given: { claims: { role: trader } }, ${pay}, then: { deny: scope.insufficient, challenge: "" } }
`;
    const b = '- { name: enforced, given: {}, when: {}, then: allow }\n';
    const files = { 'policies/b.yaml': 'mode: shadow\nscope: x', 'policies/b.test.yaml': b };
    const challenged = 'deny scope.insufficient, challenge "read payments", by scope: wanted scope "read payments"';
    expect(await run(tests, files)).toEqual({
      code: 1,
      stdout: `policies/b.test.yaml    enforced  FAILED
  policies/b.test.yaml:1
    wanted allow
    found  shadow scope.insufficient, challenge "x", by scope: wanted scope "x", missing "x"
policies/mcp.test.yaml  passes    ok
policies/mcp.test.yaml  denied    FAILED
  policies/mcp.test.yaml:2
    wanted deny tool.unlisted
    found  allow, by tools.get_*
policies/mcp.test.yaml  shadow    FAILED
  policies/mcp.test.yaml:3
    wanted shadow
    found  allow, by tools.get_*
policies/mcp.test.yaml  scope     FAILED
  policies/mcp.test.yaml:4
    wanted allow
    found  deny scope.insufficient, challenge "read", by scope: wanted scope "read", missing "read"
policies/mcp.test.yaml  reason    FAILED
  policies/mcp.test.yaml:5
    wanted deny scope.insufficient
    found  deny claim.denied, by tools.pay.claims.role: claim role: wanted "trader", found nothing
policies/mcp.test.yaml  order     FAILED
  policies/mcp.test.yaml:6
    wanted deny scope.insufficient, challenge "payments read"
    found  ${challenged}, missing "read payments"
policies/mcp.test.yaml  none      FAILED
  policies/mcp.test.yaml:7
    wanted deny scope.insufficient, challenge ""
    found  ${challenged}, missing "read payments"

1 passed, 7 failed
`,
      stderr: '',
    });
  });

  test('prints a name that cannot overwrite another line', async () => {
    const { stdout } = await run('- name: "a\\e[2K\\nb"\n  given: { scope: read }\n  when: {}\n  then: allow');
    expect(stdout).toContain('policies/mcp.test.yaml  a\u{FFFD}[2K\u{FFFD}b  ok\n');
  });
});

test('refuses a test file that tests no policy', async () => {
  const tests = '- { name: x, given: {}, when: {}, then: allow }';
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

test('reports the problems of the configuration first', async () => {
  const { code, stdout, stderr } = await outcomeIn({ yaml: 'x: 1', files: { 'policies/a.test.yaml': 'x' } }, ['test']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('gateway.yaml:1:1: x: unknown key');
});

test('succeeds without tests', async () => {
  const folder = await folderWith({ yaml: base, files: { 'policies/a.yaml': '{}' } });
  const stdout = 'policies: no tests (NAME.test.yaml)\n';
  expect(await outcome(['test'], folder)).toEqual({ code: 0, stdout, stderr: '' });
  expect(await outcome(['test', '--config', `${folder}/gateway.yaml`])).toMatchObject({ code: 0 });
});

test('refuses wrong usage', async () => {
  expect(await outcome(['test', '--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('sallyport test [TEXT] [OPTIONS]\n') as string,
  });
  expect(await outcome(['test', 'no such test'])).toMatchObject({ code: 1, stdout: '' });
});

test('the policies of the repository pass their tests', async () => {
  const { code, stdout, stderr } = await outcome(['test']);
  expect(stdout).toMatch(/\n\d+ passed, 0 failed; (\d+) of \1 rules decided by a test\n$/);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

test('runs the tests of one policy, by its name or its files, or says which policies have tests', async () => {
  const test = '- { name: x, given: {}, when: {}, then: allow }\n';
  const files = Object.fromEntries(['a', 'b'].map((name) => [`policies/${name}.test.yaml`, test]));
  const policies = { 'policies/a.yaml': '{}', 'policies/b.yaml': '{}' };
  const folder = await folderWith({ yaml: base, files: { ...files, ...policies } });
  for (const written of ['a', 'policies/a.yaml', './policies/a.test.yaml']) {
    expect((await outcome(['test', written], folder)).stdout).toMatch(
      /^policies\/a\.test\.yaml {2}x {2}ok\n\n1 passed/,
    );
  }
  expect(await outcome(['test', 'policies/c.yaml'], folder)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'no test has "policies/c.yaml" in its policy or name; there are tests of: a, b\n',
  });
});
