import { conditionsInParts } from '../../../src/policy-parts/parts.ts';
import { expect, test } from 'vitest';
import { matchedPatterns, type PolicyDocument, PolicyError, rulePath } from '../../../src/core/policy/document.ts';

test('finds every pattern with its place', () => {
  const document: PolicyDocument = {
    claims: { a: { matches: '1' }, b: { not: { not: { matches: '2' } } }, matches: 'no pattern' },
    any: [{}, { claims: { c: { matches: '3' } } }],
    all: [{ not: { claims: { '/d/e': { matches: '4' } } } }],
    tools: {
      t: { arguments: { '/f': { not: { matches: '5', above: 1 } } }, claims: { g: { matches: '6' } } },
      u: { approval: { by: { claims: { m: { matches: '11' } } }, when: { arguments: { '/n': { matches: '12' } } } } },
    },
    resources: { 'x://**': { not: { claims: { h: { matches: '7' } } } } },
    prompts: { p: { arguments: { '/i': { matches: '8' }, '/j': ['matches'] } } },
    methods: { m: { claims: { k: { matches: '9' } } } },
    requests: { 'GET /l': { claims: { l: { matches: '10' } } } },
  };
  expect(
    matchedPatterns(document, conditionsInParts).map(({ path, source }) => `${path.join(' ')}: ${source}`),
  ).toEqual([
    'claims a matches: 1',
    'claims b not not matches: 2',
    'any 1 claims c matches: 3',
    'all 0 not claims /d/e matches: 4',
    'tools t claims g matches: 6',
    'tools t arguments /f not matches: 5',
    'tools u approval by claims m matches: 11',
    'tools u approval when arguments /n matches: 12',
    'resources x://** not claims h matches: 7',
    'prompts p arguments /i matches: 8',
    'methods m claims k matches: 9',
    'requests GET /l claims l matches: 10',
  ]);
});

test.each([
  [[], ''],
  [['scope'], 'scope'],
  [['claims', 'risk'], 'claims.risk'],
  [['any', 0, 'claims', '/realm_access/roles'], 'any[0].claims./realm_access/roles'],
  [['tools', 'get_*', 'scope'], 'tools.get_*.scope'],
  [['tools', 'user.get'], 'tools["user.get"]'],
  [['tools', 'a b', 'not'], 'tools["a b"].not'],
  [['tools', 'a]"\n'], String.raw`tools["a]\"\n"]`],
  [['tools', ''], 'tools[""]'],
])('%j is written %s', (path, expected) => {
  expect(rulePath(path)).toBe(expected);
});

test('the message names every fault', () => {
  const error = new PolicyError('demo', [
    { path: ['claims', 'x', 'below'], message: 'one' },
    { path: ['tools', 'a*'], message: 'two' },
  ]);
  expect(String(error)).toBe('PolicyError: policy demo: claims.x.below: one; tools.a*: two');
  expect(error.faults).toHaveLength(2);
});
