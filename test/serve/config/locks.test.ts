import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lockFileText, readLockFile } from '../../../src/capabilities/lock/lock-file.ts';
import { lockOf } from '../../../src/capabilities/lock/settings.ts';
import { load } from '../../../src/serve/config/load.ts';
import { definitionOf } from '../../../src/mcp/guarded-message.ts';
import type { DescribedDefinition } from '../../../src/mcp/definitions.ts';
import { casesOf } from './edits.ts';
import { edited, inFolder, loaded, refusals } from './folder.ts';

const yaml = edited(['path: /api', 'path: /api\n    protocol: mcp\n    policy: tools']);
const sha256 = 'a'.repeat(64);

function described(kind: DescribedDefinition['kind'], name: string, value: unknown): DescribedDefinition {
  return { ...definitionOf(kind, name, value), description: `says ${name}\u0007\nand more` };
}

test('a route has the lock of its policy', async () => {
  const files = {
    'policies/tools.yaml': 'lock: report',
    'policies/tools.lock.yaml': `tools:\n  pay: { description: Pays., sha256: ${sha256}, members: { title: ${'b'.repeat(16)} } }`,
  };
  const { routes, policies, hash } = await loaded({ yaml, files });
  expect(routes[0] && lockOf.of(routes[0])).toEqual({
    mode: 'report',
    approved: new Map([['tool pay', { kind: 'tool', name: 'pay', sha256, members: { title: 'b'.repeat(16) } }]]),
  });
  expect([...policies.keys()]).toEqual(['tools']);
  const other = await loaded({ yaml, files: { ...files, 'policies/tools.lock.yaml': '{}' } });
  expect(other.routes[0] && lockOf.of(other.routes[0])).toEqual({ mode: 'report', approved: new Map() });
  expect(other.hash).not.toBe(hash);
});

test('a policy without lock has none, even beside a lock file', async () => {
  const files = { 'policies/tools.yaml': '{}', 'policies/tools.lock.yaml': 'nonsense: [' };
  const [route] = (await loaded({ yaml, files })).routes;
  expect(route && lockOf.of(route)).toBeUndefined();
  expect(route).toBeDefined();
});

test('an edit of a lock file is an edit of the configuration', async () => {
  const files = { 'policies/tools.yaml': 'lock: deny', 'policies/tools.lock.yaml': '{}' };
  const watched = await inFolder({ yaml, files }, async (folder) => {
    const { files: read } = await load(join(folder, 'gateway.yaml'), {});
    return read.map((file) => relative(folder, file));
  });
  expect(watched).toContain('policies/tools.lock.yaml');
});

describe('refuses', () => {
  test.each(
    casesOf(`
scope: a⏎lock: deny → policies/tools.yaml:2:7: lock: policies/tools.lock.yaml does not exist; sallyport lock writes it
lock: deny LOCK [] → policies/tools.lock.yaml:1:1: expected a mapping, found a list
lock: deny LOCK tools: { → policies/tools.lock.yaml:1:8: this { is not closed
lock: deny LOCK tools:⏎  pay: { sha256: abc }
  policies/tools.lock.yaml:2:18: tools.pay.sha256: "abc" is not a SHA-256 in hex
lock: "on" → policies/tools.yaml:1:7: lock: "on" is neither deny nor report
mode: shadow⏎lock: deny LOCK {}
  policies/tools.yaml:2:7: lock: deny contradicts mode: shadow, which refuses nothing; write report
`),
  )('%s', async (written, [message = '']) => {
    const [policy = '', lock] = written.replaceAll('⏎', '\n').split(' LOCK ');
    const files = { 'policies/tools.yaml': policy, ...(lock && { 'policies/tools.lock.yaml': lock }) };
    expect(await refusals({ yaml, files })).toEqual([expect.stringContaining(message)]);
  });

  test('a lock on an http route', async () => {
    const files = { 'policies/tools.yaml': 'lock: deny', 'policies/tools.lock.yaml': '{}' };
    expect(await refusals({ yaml: edited(['path: /api', 'path: /api\n    policy: tools']), files })).toEqual([
      'gateway.yaml:10:13: routes[0].policy: policies/tools.yaml has lock, which needs protocol: mcp',
    ]);
  });

  test('a lock for two routes', async () => {
    const second = yaml.slice(yaml.indexOf('  - name: api')).replace('name: api', 'name: two').replace('/api', '/two');
    const files = { 'policies/tools.yaml': 'lock: report', 'policies/tools.lock.yaml': '{}' };
    expect(await refusals({ yaml: yaml + second, files })).toEqual([
      'gateway.yaml:18:13: routes[1].policy: "tools" has lock, and is also the policy of routes[0]; copy it: a lock is for the server of one route',
    ]);
    expect(await refusals({ yaml: yaml + second, files: { 'policies/tools.yaml': '{}' } })).toEqual([]);
  });
});

test('shadow mode allows report', async () => {
  const files = { 'policies/tools.yaml': 'mode: shadow\nlock: report', 'policies/tools.lock.yaml': '{}' };
  expect(await refusals({ yaml, files })).toEqual([]);
});

describe('the text of a lock file', () => {
  const definitions = [
    described('tool', 'pay: now', { name: 'pay: now', inputSchema: { type: 'object' } }),
    described('tool', '__proto__', { name: '__proto__' }),
    described('tool', 'abc', { name: 'abc', inputSchema: { type: 'object' } }),
    described('prompt', 'pay', { name: 'pay' }),
    { ...definitionOf('instructions', '', 'Pay first.'), description: '' },
  ];
  const text = lockFileText('tools', 'http://127.0.0.1:3001/mcp', definitions);

  test('reads as what was written', () => {
    const { approved, problems } = readLockFile('tools.lock.yaml', text);
    expect(problems).toEqual([]);
    expect([...approved.values()].toSorted((one, other) => (one.sha256 < other.sha256 ? -1 : 1))).toEqual(
      definitions
        .map(({ kind, name, sha256, members }) => ({ kind, name, sha256, members }))
        .toSorted((one, other) => (one.sha256 < other.sha256 ? -1 : 1)),
    );
  });

  test('is sorted, and says what it is', () => {
    expect(text).toContain('# The tools, prompts and instructions that http://127.0.0.1:3001/mcp showed');
    const lines = text.split('\n').filter((line) => /^(?: {2})?\S.*:$/.test(line) && !line.startsWith('#'));
    expect(lines).toEqual(['instructions:', 'tools:', '  __proto__:', '  abc:', '  "pay: now":', 'prompts:', '  pay:']);
    expect(text).toContain('  abc:\n    description: says abc\u{FFFD}\n    sha256: ');
    expect(lockFileText('tools', 'http://127.0.0.1:3001/mcp', definitions.toReversed())).toBe(text);
  });

  test('of a server that shows nothing is empty', () => {
    expect(readLockFile('x', lockFileText('tools', 'http://x', []))).toEqual({ approved: new Map(), problems: [] });
  });
});
