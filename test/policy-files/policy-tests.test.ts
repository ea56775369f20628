import { describe, expect, test } from 'vitest';
import policyTestSchema from '../../schema/policy-test.schema.json' with { type: 'json' };
import type { Files } from '../../src/core/config/files.ts';
import { readPolicyTests, type Tested } from '../../src/policy-files/policy-tests.ts';
import { policyReasons } from '../../src/analysis/review/policy-reasons.ts';
import { casesOf } from '../serve/config/edits.ts';
import { base, folderWith } from '../serve/config/folder.ts';

const anyPolicy: Tested = { listed: [], listsRequests: false };
const reasons = policyTestSchema.$defs.reason.enum.join(', ');

/** The problems in the tests of a policy, without the name of their file. */
async function problemsIn(text: string, tested: Tested = anyPolicy): Promise<readonly string[]> {
  const files: Files = { at: 0, names: async () => ['api.test.yaml'], text: async () => ({ text }) };
  const { problems } = await readPolicyTests('policies', 'policies', new Map([['api', tested]]), files);
  return problems.map((problem) => String(problem).replace('policies/api.test.yaml', ''));
}

test('a test can want each reason of a policy', () => {
  expect(policyTestSchema.$defs.reason.enum.toSorted()).toEqual(policyReasons.toSorted());
});

describe('R-218: a mistake in a test has its place and its remedy', () => {
  test.each(
    casesOf(`
⏎  → :1:1: is empty, so that it tests nothing
[] → :1:1: must not be empty
{} → :1:1: expected a list, found a mapping; begin each entry with "- "
- { → :1:3: this { is not closed; add }
- name: a⏎  given: {}⏎ when: {}⏎  then: allow
  :3:2: "when" is indented by 1 space and "given" above it by 2; indent both alike
- { name: x, given: {}, when: {} } → :1:3: [0]: missing key: then
- { name: x, given: {}, whn: {}, then: allow }
  :1:25: [0].whn: unknown key (did you mean when?); accepted: name, given, when, then
- { name: x, given: { scope: "a  b" }, when: {}, then: allow }
  :1:30: [0].given.scope: "a  b" is not in the form of "read" or "read payments"
- { name: x, given: { scope: "read, write" }, when: {}, then: allow }
  :1:30: [0].given.scope: "read, write" has commas between scopes; write "read write"
- { name: x, given: { lifetime: 60 }, when: {}, then: allow }
  :1:33: [0].given.lifetime: expected in the form of "60s" or "5m", found 60
- { name: x, given: { claim: {} }, when: {}, then: allow }
  :1:23: [0].given.claim: unknown key (did you mean claims?); accepted: scope, claims, lifetime, authenticated, issuer, history, approval
- { name: x, given: {}, when: { tools: pay }, then: allow }
  :1:33: [0].when.tools: unknown key (did you mean tool?); accepted: tool, resource, template, prompt, arguments, method, request
- { name: x, given: {}, when: { tool: a, prompt: b }, then: allow }
  :1:42: [0].when.prompt: one call cannot act on a tool and a prompt
- { name: x, given: {}, when: { request: GET /a?b }, then: allow }
  :1:42: [0].when.request: has a query or a fragment; policies decide on the path alone
- { name: x, given: {}, when: { request: any }, then: allow }
  :1:42: [0].when.request: is not a method in capitals, one space, and a path that begins with /, such as GET /orders
- { name: x, given: {}, when: { request: GET /a, tool: b }, then: allow }
  :1:33: [0].when.request: one call cannot act on a tool and a request
- { name: x, given: {}, when: { request: /a, method: GET }, then: allow }
  :1:46: [0].when.method: a request has its method in its text: GET /orders
- { name: x, given: {}, when: { resource: "a:b", arguments: {} }, then: allow }
  :1:50: [0].when.arguments: only a tool or a prompt takes arguments
- { name: x, given: {}, when: {}, then: denied } → :1:41: [0].then: "denied" is not allow, shadow or { deny: REASON }
- { name: x, given: {}, when: {}, then: { deny: token.expired } }
  :1:49: [0].then.deny: "token.expired" is not one of ${reasons}
- { name: x, given: { history: [{ tool: a }] }, when: {}, then: allow } → :1:33: [0].given.history[0]: missing key: ago
- { name: x, given: { history: [{ ago: 1m }] }, when: {}, then: allow }
  :1:33: [0].given.history[0]: names no call; add tool, resource, prompt, request or method
- { name: x, given: { history: [{ tool: a, ago: soon }] }, when: {}, then: allow }
  :1:49: [0].given.history[0].ago: "soon" is not a duration such as 30s, 10m, 1h or 7d
- { name: x, given: { history: [{ tool: a, prompt: b, ago: 1m }] }, when: {}, then: allow }
  :1:44: [0].given.history[0].prompt: one call cannot act on a tool and a prompt
- { name: x, given: { history: [{ resource: "a:b", arguments: {}, ago: 1m }] }, when: {}, then: allow }
  :1:52: [0].given.history[0].arguments: only a tool or a prompt takes arguments
- { name: x, given: { history: [{ tool: a, ago: 1m, outcome: failed }] }, when: {}, then: allow }
  :1:62: [0].given.history[0].outcome: "failed" is not one of answered, error, unanswered
- { name: x, given: { history: [{ tool: a, agoo: 1m }] }, when: {}, then: allow }
  :1:44: [0].given.history[0].agoo: unknown key (did you mean ago?); accepted: tool, resource, prompt, arguments, method, request, ago, subject, outcome
- { name: x, for_all: {}, whn: {}, then: deny }
  :1:27: [0].whn: unknown key (did you mean when?); accepted: name, for_all, when, then
- { name: x, for_all: { claim: {} }, when: {}, then: deny }
  :1:25: [0].for_all.claim: unknown key (did you mean claims?); accepted: scope, claims, actors, any, all, not, acr, max_age, max_lifetime, approval
- { name: x, for_all: {}, when: all, then: deny }
  :1:33: [0].when: "all" is not any, or a mapping with tool, resource, template, prompt, request or method
- { name: x, for_all: {}, when: { tool: a, prompt: b }, then: deny }
  :1:44: [0].when.prompt: one call cannot act on a tool and a prompt
- { name: x, for_all: {}, when: {}, then: refuse }
  :1:43: [0].then: "refuse" is not allow, deny, { deny: REASON } or { deny: [REASON, …] }
- { name: x, for_all: {}, when: {}, then: { deny: [no.such] } }
  :1:52: [0].then.deny[0]: "no.such" is not one of ${reasons}
`),
  )('%s', async (written, lines) => {
    expect(await problemsIn(written.replaceAll('⏎', '\n'))).toEqual(lines);
  });

  test('is not UTF-8 text', async () => {
    const folder = await folderWith({ yaml: base, files: { 'policies/api.test.yaml': Buffer.from([0xff]) } });
    const { problems } = await readPolicyTests(`${folder}/policies`, 'policies', new Map([['api', anyPolicy]]));
    expect(problems.map(String)).toEqual(['policies/api.test.yaml: is not UTF-8 text']);
  });
});

test('R-296: a test of a policy with requests names its request', async () => {
  const text = '- { name: a, given: {}, when: {}, then: allow }\n- { name: b, for_all: {}, when: {}, then: deny }\n';
  const message = "names no request, and the policy has requests; write { request: 'GET /path' }";
  expect(await problemsIn(text, { listed: [], listsRequests: true })).toEqual([
    `:1:31: [0].when: ${message}`,
    `:2:33: [1].when: ${message}`,
  ]);
});

test('a test of a policy with tools names no request', async () => {
  const text = '- { name: a, given: {}, when: { request: GET /orders }, then: allow }\n';
  const remedy = 'the policy has tools, which is for MCP routes; name a tool, resource, prompt or method instead';
  expect(await problemsIn(text, { listed: [{ key: 'tools', name: 'pay' }], listsRequests: false })).toEqual([
    `:1:33: [0].when.request: ${remedy}`,
  ]);
});
