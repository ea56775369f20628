import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { folderWith } from '../../serve/config/folder.ts';
import { outcome } from '../run.ts';
import { escaped, toolsPolicy } from '../../../src/commands/init/tools-policy.ts';

const tool = (name: string, readOnly = false) => ({ name, readOnly });

test('a name that a server chose stays one key, whatever characters it has', () => {
  const names = [
    'get item',
    'null',
    'Yes',
    '1e3',
    '~',
    '<<',
    '- a',
    'a: b',
    'a #b',
    '"',
    "'",
    '\\',
    '{x}',
    '[x]',
    '&a',
    '!x',
    '%x',
    '@x',
    '`x',
    ',',
    '价格',
    '🚀',
    '__proto__',
    'constructor',
    'no_such_tool',
  ];
  const { policy, tests, omitted } = toolsPolicy(names.map((name) => tool(name)));
  expect(omitted).toEqual([]);
  expect(Object.keys(parse(policy, { schema: 'core' }).tools)).toEqual(names);
  expect(Object.keys(parse(policy, { version: '1.1' }).tools)).toEqual(names);
  const tools = (parse(tests) as { when: { tool?: unknown } }[]).map(({ when }) => when.tool);
  const called = tools.filter((name) => typeof name === 'string');
  expect(tools.at(-1)).toEqual({ not: names });
  expect(new Set(called)).toEqual(new Set([...names, 'no_such_tool_']));
});

test('R-226: a name that a policy would read as a pattern, or that does not show, is omitted', () => {
  const names = [
    '*',
    'get_*',
    '',
    ' x',
    'x ',
    'a\nb: {}',
    'x: {}\n  "*"',
    'a\u{202e}b',
    'a\u{200b}',
    '\u{1b}[2J',
    'x'.repeat(129),
    '\u{85}',
    '${env:HOME}',
  ];
  const { policy, omitted } = toolsPolicy([...names, 'kept'].map((name) => tool(name, true)));
  expect(Object.keys(parse(policy).tools)).toEqual(['kept']);
  const compiled = compilePolicy('tools', parse(policy));
  expect([compiled.toolEntry('kept'), compiled.toolEntry('other')]).toEqual(['kept', undefined]);
  expect(omitted).toHaveLength(names.length);
  expect(omitted).toContain('"a\\nb: {}"');
  expect(omitted).toContain('"a\\u202eb"');
  expect(omitted).toContain('"\\u001b[2J"');
  expect(omitted.join('')).toMatch(/^[ -~…]*$/);
});

test('a tool that does not say that it only reads needs the scope of its own', () => {
  const { policy, counts } = toolsPolicy([tool('get', true), tool('put'), tool('twice', true), tool('twice')]);
  expect(parse(policy)).toEqual({
    scope: 'read',
    tools: { get: {}, put: { scope: 'write' }, twice: { scope: 'write' } },
  });
  expect(counts).toEqual({ reading: 1, other: 2 });
});

test('a name that suggests commands needs the scope of its own, although the server says that the tool only reads', () => {
  const command = ['aggregate', 'runQuery', 'execute_sql', 'eval', 'SQLQuery', 'run-script', 'queries/run', 'shell'];
  const plain = ['get_runtime', 'evaluation_list', 'inquiry', 'list_scripts_of', 'querying'];
  const { policy } = toolsPolicy([...command, ...plain].map((name) => tool(name, true)));
  const tools = parse(policy).tools as Record<string, object>;
  expect(command.filter((name) => !('scope' in (tools[name] ?? {})))).toEqual([]);
  expect(plain.filter((name) => 'scope' in (tools[name] ?? {}))).toEqual(['list_scripts_of']);
});

test('a name that suggests secrets needs the scope of its own, although the server says that the tool only reads', () => {
  const secret = [
    'get-env',
    'printEnvironment',
    'printenv',
    'list_env_vars',
    'READ_SECRET',
    'getApiKey2',
    'vault/read',
    'tokens',
    'show password',
    'AWSCredentials',
  ];
  const plain = ['get-item', 'envelope', 'getInventory', 'tokenize', 'keyboard', 'monkey', 'secretary'];
  const { policy } = toolsPolicy([...secret, ...plain].map((name) => tool(name, true)));
  const tools = parse(policy).tools as Record<string, object>;
  expect(Object.keys(tools)).toEqual([...plain, ...secret]);
  for (const name of plain) expect(tools[name]).toEqual({});
  for (const name of secret) expect(tools[name]).toEqual({ scope: 'write' });
});

test('a server without tools gets a policy that lists none', () => {
  expect(parse(toolsPolicy([]).policy)).toEqual({ scope: 'read', tools: {} });
});

test('at most 1000 tools are listed', () => {
  const { counts, omitted } = toolsPolicy(Array.from({ length: 1002 }, (_, index) => tool(`t${index}`)));
  expect(counts.other).toBe(1000);
  expect(omitted).toEqual(['"t1000"', '"t1001"']);
});

test('an escaped text is one JSON string in one line, cut at 128 characters', () => {
  expect(JSON.parse(escaped('a\u{1f600}\u{e0001}\u{2028}"'))).toBe('a\u{1f600}\u{e0001}\u{2028}"');
  expect(escaped('x'.repeat(200))).toHaveLength(131);
});

test('a tool that calls others has `inner`, and the tests of its policy pass', async () => {
  const inner = { name: '/tool_name', arguments: '/parameters' };
  for (const readOnly of [true, false]) {
    const { policy, tests } = toolsPolicy([{ ...tool('call_it', readOnly), inner }, tool('get', true), tool('put')]);
    const document = parse(policy) as PolicyDocument;
    expect(document.tools?.['call_it']).toMatchObject({ inner });
    const route =
      '{ name: r, path: /mcp, protocol: mcp, audience: r, policy: tools, upstream: { url: http://up.test } }';
    const server = '{ issuer: http://as.test, jwt: { algorithms: [RS256] } }';
    const folder = await folderWith({
      yaml: `public_url: http://g.test\nauthorization_servers: { main: ${server} }\nroutes: [${route}]\n`,
      files: { 'policies/tools.yaml': policy, 'policies/tools.test.yaml': tests },
    });
    expect(await outcome(['test'], folder)).toMatchObject({ code: 0 });
  }
});
