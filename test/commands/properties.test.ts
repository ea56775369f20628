import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { base, folderWith } from '../serve/config/folder.ts';
import { outcome, outcomeIn } from './run.ts';

const policy = `scope: read
tools:
  list_accounts: {}
  pay: { scope: payments, claims: { role: trader }, arguments: { /amount: { at_most: 1000 } }, max_lifetime: 60s }
`;

function run(tests: string, ...args: readonly string[]): ReturnType<typeof outcome> {
  const files = { 'policies/mcp.yaml': policy, 'policies/mcp.test.yaml': tests };
  return outcomeIn({ yaml: base, files }, ['test', ...args]);
}

const unlisted = `- name: nothing else can be called
  for_all: { scope: read }
  when: { tool: { not: [list_accounts, pay] } }
  then: { deny: tool.unlisted }
`;
const holding = `- name: only traders ever move money
  for_all: { not: { claims: { role: trader } } }
  when: { tool: pay }
  then: deny
`;
const failing = `- name: no caller pays
  for_all: {}
  when: { tool: pay }
  then: deny
`;
const counterexample = `- name: counterexample of no caller pays
  given: { scope: read payments, claims: { role: trader }, lifetime: 60s }
  when: { tool: pay, arguments: { amount: 0 } }
  then: allow
`;

test('R-229: proves a property, and prints a counterexample that passes as a test', async () => {
  const { code, stdout } = await run(holding + failing);
  expect(code).toBe(1);
  expect(stdout).toContain('only traders ever move money  ok\n');
  expect(stdout).toContain(`policies/mcp.test.yaml  no caller pays                FAILED
  policies/mcp.test.yaml:5
    wanted deny
    found  allow, by tools.pay
    counterexample, which passes as a test in the same file:
${counterexample}`);
  const pasted = await run(counterexample);
  expect(pasted).toMatchObject({ code: 0, stderr: '' });
});

test('a property that holds counts for coverage, and is a case of the JUnit report', async () => {
  const files = { 'policies/mcp.yaml': policy, 'policies/mcp.test.yaml': holding + unlisted };
  const folder = await folderWith({ yaml: base, files });
  const { code, stdout } = await outcome(['test', '--coverage', '--junit', 'report.xml'], folder);
  expect(code).toBe(0);
  expect(stdout).toContain('tools.list_accounts: no test passes it\n');
  expect(stdout).not.toContain('tools: no test calls what is not listed\n');
  expect(stdout).toMatch(/\n2 passed, 0 failed; \d of \d rules decided by a test\n$/);
  const report = await readFile(`${folder}/report.xml`, 'utf8');
  expect(report).toContain('name="only traders ever move money" file="policies/mcp.test.yaml" line="1"/>');
});

test('a property that holds and denies counts for each rule that denies', async () => {
  const policy = 'tools: { pay: { claims: { role: trader, team: money }, arguments: { /sum: { at_most: 9 } } } }\n';
  const files = {
    'policies/mcp.yaml': policy,
    'policies/mcp.test.yaml': `- name: no other team pays, and no trader pays much
  for_all: {}
  when: { tool: pay, arguments: { /sum: { above: 9 } } }
  then: deny
- name: nothing else can be called
  for_all: {}
  when: { tool: { not: pay } }
  then: deny
- name: traders pay
  given: { claims: { role: trader, team: money } }
  when: { tool: pay, arguments: { sum: 1 } }
  then: allow
`,
  };
  const { code, stdout } = await outcomeIn({ yaml: base, files }, ['test', '--require-coverage']);
  expect(stdout).toContain('3 passed, 0 failed; 5 of 5 rules decided by a test\n');
  expect(code).toBe(0);
});

test('R-230: a property that cannot be decided fails, and names the rule', async () => {
  const { code, stdout } = await run(`- name: looks around
  for_all: { claims: { a: { matches: 'a(?=b)' } } }
  when: { tool: list_accounts }
  then: deny
`);
  expect(code).toBe(1);
  expect(stdout).toContain('undecided: [0].for_all.claims.a: "a(?=b)": the look-around (?=b)\n');
});

test('a property that does not compile is refused with its place', async () => {
  const { code, stderr } = await run(`- name: broken
  for_all: { claims: { a: { matches: '[' }, /~: x } }
  when: { tool: { matches: '(' } }
  then: deny
`);
  expect(code).toBe(1);
  expect(
    stderr
      .split('\n')
      .slice(0, 3)
      .map((line) => line.replace(/ is not a.*/, '')),
  ).toEqual([
    'policies/mcp.test.yaml:2:38: [0].for_all.claims.a.matches: "["',
    'policies/mcp.test.yaml:2:49: [0].for_all.claims["/~"]: "/~"',
    'policies/mcp.test.yaml:3:28: [0].when.tool.matches: "("',
  ]);
});
