import { expect, test } from 'vitest';
import type { PolicyDocument } from '../../src/core/policy/document.ts';
import { matchedPatterns } from '../../src/policy-files/placed-conditions.ts';

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
  expect(matchedPatterns(document).map(({ path, source }) => `${path.join(' ')}: ${source}`)).toEqual([
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
