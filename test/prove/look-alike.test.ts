import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { prove } from '../../src/prove/prove.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { compiled, policyOf } from './deciding.ts';
import { setting } from './refutation.ts';

type Property = Parameters<typeof compiled>[0];

// A server that ignores case reads get_x as one of Get_*, so that g* does not cover it.
test.each<[string, PolicyDocument, string]>([
  ['a pattern', { tools: { 'g*': {}, 'Get_*': {} } }, 'get_'],
  ['an exact name', { tools: { 'g*': {}, GetX: {} } }, 'getx'],
])('a name in plain spelling that %s of another entry could mean is no misspelling', (_, policy, name) => {
  const proof = prove(
    compiled(parse("{ name: allowed, for_all: {}, when: { tool: { matches: '^g' } }, then: allow }") as Property),
    policyOf(policy),
    setting,
  );
  expect(proof).toMatchObject({
    outcome: 'fails',
    counterexample: { when: { tool: expect.stringMatching(`^${name}`) } },
    decision: { denial: { reason: 'tool.unlisted' } },
  });
});
