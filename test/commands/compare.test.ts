import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { base, edited } from '../serve/config/folder.ts';
import { outcomeIn } from './run.ts';

const page = readFileSync('docs/properties.md', 'utf8');
const [policy = '', properties = ''] = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block]) => block ?? '');
const shown = /^demo-tools\n.*?(?=^```$)/ms.exec(page)?.[0];

const limited = policy.replace('at_most: 1000', 'below: 1001');

function run(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  ...args: readonly string[]
): ReturnType<typeof outcomeIn> {
  const files = { ...inFolderOf('before', before), ...inFolderOf('policies', after) };
  return outcomeIn({ yaml: base, files }, ['compare', '--from', 'before', ...args]);
}

function inFolderOf(folder: string, policies: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(policies).map(([name, text]) => [`${folder}/${name}.yaml`, text]));
}

test('R-248: prints the differences of docs/properties.md, each with its witness', async () => {
  const { code, stdout, stderr } = await run({ 'demo-tools': policy }, { 'demo-tools': limited });
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: shown, stderr: '' });
});

test('the properties of docs/properties.md hold for its policy', async () => {
  const files = { 'policies/demo-tools.yaml': policy, 'policies/demo-tools.test.yaml': properties };
  const { code, stdout } = await outcomeIn({ yaml: base, files }, ['test']);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('3 passed, 0 failed') });
});

test('R-248: exits with 0 if only comments, order and words differ', async () => {
  const before = { api: 'scope: [read, pay]\nclaims: { a: 1 }\n' };
  const after = { api: '# Edited.\nclaims: { a: 1 }\nscope: pay read\nbecause: Ask.\n' };
  expect(await run(before, after)).toMatchObject({ code: 0, stdout: 'nothing differs\n', stderr: '' });
});

test('R-248: prints every kind of difference', async () => {
  const before = {
    gone: '{}\n',
    mode: 'mode: shadow\nscope: read\n',
    tools: 'scope: read\nlock: report\ntools: { a: {}, b: {}, c: { scope: x } }\n',
    around: 'claims: { a: { matches: "a(?=b)" } }\n',
  };
  const after = {
    mode: 'scope: read\n',
    new: '{}\n',
    tools: 'scope: read\nlists: show\ntools: { a: {}, c: { scope: y } }\n',
    around: 'claims: { a: { matches: "a(?=c)" } }\n',
  };
  const { code, stdout } = await run(before, after);
  expect(code).toBe(1);
  expect(stdout).toBe(`gone
  removed

mode
  mode changed            was shadow, now enforce

new
  added

tools
  newly allowed: tools.c            was scope.insufficient
    given: { scope: read y }
    when: { tool: c }
  newly refused: tools.b            now tool.unlisted
    given: { scope: read }
    when: { tool: b }
  newly refused: tools.c            now scope.insufficient
    given: { scope: read x }
    when: { tool: c }
  refused for another reason: tools.b            was scope.insufficient, now tool.unlisted
    given: {}
    when: { tool: b }
  asked for other scopes: tools.c            was "read x", now "read y"
    given: { scope: read }
    when: { tool: c }
  lists changed            was filter, now show
  lock changed            was report, now off

around
  undecided: policy            claims.a: "a(?=b)": the look-around (?=b)
  undecided: policy            claims.a: "a(?=c)": the look-around (?=c)
`);
});

test('says that arguments are no longer judged by their schemas, and that they are', async () => {
  const [strict, open] = ['lock: deny\ncalls: strict\ntools: { a: {} }\n', 'lock: deny\ntools: { a: {} }\n'];
  const lock = { 'tools.lock': '{}' };
  const wider = 'was strict, now off: arguments that the schemas refuse are newly allowed';
  expect(await run({ tools: strict, ...lock }, { tools: open, ...lock })).toMatchObject({
    code: 1,
    stdout: `tools\n  calls changed            ${wider}\n`,
  });
  expect((await run({ tools: open, ...lock }, { tools: strict, ...lock })).stdout).toContain('was off, now strict\n');
  const { stdout } = await run({ tools: strict, ...lock }, { tools: open, ...lock }, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    differences: [{ kind: 'calls changed', rule: 'calls', was: 'strict', now: 'off' }],
  });
});

test('reports an edit of the conditions of a policy once, not for each tool', async () => {
  const tools = 'tools: { a: {}, b: {}, "c_*": { scope: pay } }\nmethods: { tools/call: {} }\n';
  const { stdout } = await run({ api: `claims: { risk: { below: 50 } }\n${tools}` }, { api: tools });
  expect(stdout.match(/newly allowed: .*/g)).toEqual(['newly allowed: policy            was claim.denied']);
});

test('R-248: prints JSON', async () => {
  const { code, stdout } = await run({ api: 'scope: read\n' }, { api: '{}\n', b: '{}\n' }, '--json');
  expect(code).toBe(1);
  const was = 'scope.insufficient';
  expect(JSON.parse(stdout)).toEqual({
    differences: [
      { policy: 'api', kind: 'newly allowed', rule: 'policy', was, now: 'allow', given: {}, when: {} },
      { policy: 'b', kind: 'added', rule: null, was: null, now: null, given: null, when: null },
    ],
    undecided: [],
  });
});

test('R-248: reports routes that have another policy, and another hierarchy of scopes', async () => {
  const before = edited(['audience:', 'policy: one\n    audience:']);
  const after = edited(['audience:', 'policy: two\n    audience:'], ['routes:', 'scopes: { write: [read] }\nroutes:']);
  const policies = { one: 'scope: read\n', two: '{}\n' };
  const files = {
    'before/gateway.yaml': before,
    ...inFolderOf('before/policies', policies),
    ...inFolderOf('policies', policies),
  };
  const { code, stdout } = await outcomeIn({ yaml: after, files }, ['compare', '--from', 'before/gateway.yaml']);
  expect(code).toBe(1);
  expect(stdout).toBe(`route api
  policy changed            was one, now two
  newly allowed: policy            was scope.insufficient
    given: {}
    when: {}

gateway.yaml
  undecided: scopes            the configurations have different \`scopes\`; the policies are compared by those of the new one
`);
});

test.each([
  ['a folder that does not exist', ['--from', 'nowhere'], 'nowhere: is not a folder\nnowhere: 1 problem\n'],
  ['a policy that does not load', ['--from', 'before', '--to', 'broken'], 'broken/api.yaml:1:1: scop'],
  ['no policies before the edit', [], '--from is missing'],
])('R-248: exits with 2 for %s', async (_, args, message) => {
  const files = { 'before/api.yaml': '{}\n', 'broken/api.yaml': 'scop: read\n' };
  const { code, stderr } = await outcomeIn({ yaml: base, files }, ['compare', ...args]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
});
