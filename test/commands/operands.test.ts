import { expect, test } from 'vitest';
import { tryDraft } from '../../src/capabilities/console/draft.ts';
import { edited } from '../serve/config/folder.ts';
import { outcomeIn } from './run.ts';

const yaml = edited(
  ['audience: https://api.example', 'protocol: mcp\n    audience: r\n    policy: files'],
  ['name: api', 'name: files'],
);
const own = 'scope: read\ntools:\n  read_file: { arguments: { /tenant: { claim: tenant } } }\n';
const variable = "scope: read\nresources:\n  'crm://{tenant}/**': { variables: { tenant: { claim: tenant } } }\n";

const line = (members: object): string =>
  JSON.stringify({
    msg: 'decision',
    time: '2026-01-31T10:00:00.000Z',
    decision: 'd',
    request_id: 'r',
    route: 'files',
    allow: true,
    subject: 'alice',
    issuer: 'http://127.0.0.1:9000',
    scope: 'read',
    duration_ms: 1,
    ...members,
  });
const call = { method: 'tools/call', tool: 'read_file', input: { claims: { tenant: 'acme' } } };
const reading = (name: string, decision: string): object => ({
  decision,
  method: 'resources/read',
  input: { claims: { tenant: 'acme' }, targets: [{ kind: 'resource', name }] },
});

test('compare shows a call for a comparison that an edit forgets', async () => {
  const files = { 'before/files.yaml': own, 'policies/files.yaml': own.replace(/\{ arguments.*\}/, '{}') };
  const { code, stdout } = await outcomeIn({ yaml, files }, ['compare', '--from', 'before', '--json']);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    differences: [
      { kind: 'newly allowed', rule: 'tools.read_file', was: 'argument.denied', when: { tool: 'read_file' } },
      { kind: 'refused for another reason', now: 'scope.insufficient' },
    ],
    undecided: [],
  });
});

test('compare shows a URI for a variable that an edit forgets', async () => {
  const files = { 'before/files.yaml': variable, 'policies/files.yaml': variable.replace(/\{ variables.*\}/, '{}') };
  const { stdout } = await outcomeIn({ yaml, files }, ['compare', '--from', 'before', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    differences: [
      { kind: 'newly allowed', was: 'variable.denied', when: { resource: expect.stringMatching(/^crm:\/\/[^/]+\//) } },
      { kind: 'refused for another reason' },
    ],
    undecided: [],
  });
});

test('replay does not know what arguments decide, and decides by variables', async () => {
  const log = [line(call), line(reading('crm://acme/deals', 'e')), line(reading('crm://globex/deals', 'f'))].join('\n');
  const both = `${own}${variable.replace('scope: read\n', '')}`;
  const files = { log, 'policies/files.yaml': both, 'edited/files.yaml': both.replace('/tenant:', '/org:') };
  const { stdout } = await outcomeIn({ yaml, files }, ['replay', 'log', '--policies', 'edited', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    changes: [
      { change: 'unknown', called: 'read_file', count: 1 },
      { change: 'would be denied', called: 'crm://globex/deals', after: 'deny variable.denied', count: 1 },
    ],
  });
});

test('coverage counts a variable as a rule', async () => {
  const allowed =
    "- { name: own, given: { scope: read, claims: { tenant: a } }, when: { resource: 'crm://a/b' }, then: allow }";
  const refused =
    "- { name: other, given: { scope: read, claims: { tenant: b } }, when: { resource: 'crm://a/b' }, then: { deny: variable.denied } }";
  const withTests = (tests: string) =>
    outcomeIn({ yaml, files: { 'policies/files.yaml': variable, 'policies/files.test.yaml': tests } }, [
      'test',
      '--require-coverage',
    ]);
  const one = await withTests(`${allowed}\n`);
  expect(one).toMatchObject({ code: 1, stdout: expect.stringContaining('variables.tenant') });
  expect((await withTests(`${allowed}\n${refused}\n`)).stdout).not.toContain('variables.tenant');
});

test('learn writes no comparison, and its tests pass', async () => {
  const log = [line(call), line({ ...call, decision: 'e', subject: 'bob' })].join('\n');
  const { code, stdout } = await outcomeIn({ yaml, files: { log, 'policies/files.yaml': own } }, [
    'learn',
    'log',
    '--route',
    'files',
  ]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/read_file: \{\}/) });
});

test('the playground shows both sides of a comparison', async () => {
  const question = { claims: '{"tenant":"acme"}', scope: 'read', lifetime: '', history: '' } as const;
  const ask = async (text: string, asked: object) =>
    (
      await tryDraft({
        policy: 'files',
        text,
        inForce: text,
        tests: undefined,
        scopeHierarchy: new Map(),
        issuer: 'https://as.example',
        route: { name: 'files', protocol: 'mcp' },
        question: { ...question, kind: 'tool', name: 'read_file', arguments: '', ...asked },
        decisions: undefined,
      })
    ).answer;
  expect(await ask(own, { arguments: '{"tenant":"globex"}' })).toMatchObject({
    allow: false,
    reason: 'argument.denied',
  });
  expect(JSON.stringify(await ask(own, { arguments: '{"tenant":"globex"}' }))).toMatch(/globex.*acme|acme.*globex/);
  expect(await ask(own, { arguments: '{"tenant":"acme"}' })).toMatchObject({ allow: true });
  const shown = await ask(variable, { kind: 'resource', name: 'crm://globex/x' });
  expect(shown).toMatchObject({ allow: false, reason: 'variable.denied' });
});

test('check says that a key with a variable covers URIs, unless the policy says which', async () => {
  const checked = async (policy: string) => outcomeIn({ yaml, files: { 'policies/files.yaml': policy } }, ['check']);
  const free = await checked(variable.replace(/\{ variables.*\}/, '{}'));
  expect(`${free.stdout}${free.stderr}`).toContain('covers URIs as * does, and not only the template');
  const bound = await checked(variable);
  expect(`${bound.stdout}${bound.stderr}`).not.toContain('covers URIs');
});

test.each([
  [
    "{ resource: 'crm://{t}/**', variables: { t: a } }",
    'is no key of resources in the policy; it has "crm://{tenant}/**"',
  ],
  ["{ resource: ['crm://{tenant}/**'], variables: { tenant: a } }", 'needs one key of the policy beside it'],
  ['{ tool: x, variables: { tenant: a } }', 'needs one key of the policy beside it'],
  ["{ resource: 'crm://{tenant}/**', variables: { other: a } }", 'has no variable {other}; it has tenant'],
])('a property on variables names a key of the policy: %s', async (when, problem) => {
  const files = {
    'policies/files.yaml': variable,
    'policies/files.test.yaml': `- { name: p, for_all: {}, when: ${when}, then: deny }\n`,
  };
  expect(await outcomeIn({ yaml, files }, ['test'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(problem) as string,
  });
});
