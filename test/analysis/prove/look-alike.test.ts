import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { prove } from '../../../src/analysis/prove/prove.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { compiled, policyOf } from './deciding.ts';
import { setting } from './refutation.ts';

type Property = Parameters<typeof compiled>[0];

// A server that ignores case reads get_x as one of Get_*, so that g* does not cover it. One that reads files drops a
// query.
test.each<[PolicyDocument, string, RegExp]>([
  [{ tools: { 'g*': {}, 'Get_*': {} } }, 'tool: { matches: ^g }', /^get_/],
  [{ tools: { 'g*': {}, GetX: {} } }, 'tool: { matches: ^g }', /^getx$/],
  [{ prompts: { 'g*': {}, GetX: {} } }, 'prompt: { matches: ^g }', /^getx$/],
  [{ resources: { 'a:*': {}, 'a:X*': {} } }, 'resource: { matches: "^a:" }', /^a:x/],
  [{ resources: { 'a:*': {}, 'a:X': {} } }, 'resource: { matches: "^a:" }', /^a:x$/],
  [{ resources: { 'a:**': {}, 'a:x': {} } }, 'resource: { matches: ^a:x }', /^a:x[?#]/],
  [{ resources: { 'a:**': {}, 'a:b/*': {} } }, 'resource: { matches: "^a:" }', /^a:b\/\w*[?#]/],
  [{ resources: { 'a:**': {}, 'a:B': {} } }, 'resource: { matches: "^a:b[?]v=1$" }', /^a:b[?]v=1$/],
  [{ resources: { 'a:**': {}, 'a:B/*': {} } }, 'resource: { matches: "^a:b/1[?#]v$" }', /^a:b\/1[?#]v$/],
  [{ resources: { '**': {}, 'a:x': {} } }, 'resource: any', /^a:x[?#]/],
])('R-229: a name in plain spelling that another entry of %j could mean is no misspelling', (policy, when, name) => {
  const property = parse(`{ name: allowed, for_all: {}, when: { ${when} }, then: allow }`) as Property;
  const proof = prove(compiled(property), policyOf(policy), setting);
  const [kind] = Object.keys(property.when);
  expect(proof).toMatchObject({
    outcome: 'fails',
    counterexample: { when: { [kind ?? '']: expect.stringMatching(name) } },
    decision: { denial: { reason: `${kind}.unlisted` } },
  });
});

test('R-229: an entry with a query takes no other query from the entry that covers it', () => {
  const property = parse('{ name: allowed, for_all: {}, when: { resource: { matches: "^a:x" } }, then: allow }');
  const policy: PolicyDocument = { resources: { 'a:**': {}, 'a:x?**': {} } };
  expect(prove(compiled(property as Property), policyOf(policy), setting)).toMatchObject({ outcome: 'holds' });
});
