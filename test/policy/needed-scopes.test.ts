import { expect, test } from 'vitest';
import type { Attempt } from '../../src/model/policy.ts';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { call, caller, message, type Given } from './caller.ts';

const demo: PolicyDocument = {
  scope: 'read',
  tools: { 'get_*': {}, pay: { scope: 'payments read' } },
  methods: { 'completion/complete': { scope: 'complete' } },
};
const either: PolicyDocument = {
  scope: 'read',
  any: [{ scope: 'admin' }, { claims: { role: 'trader' }, scope: 'trade' }],
};

/** What an allowed call needed: what a stage that comes later adds its own scopes to. */
test.each<[string, PolicyDocument, Given, Attempt, string[]]>([
  ['a route', demo, { scope: 'read' }, { kind: 'http' }, ['read']],
  ['a tool', demo, { scope: 'read payments' }, call('pay'), ['read', 'payments']],
  ['a tool by a pattern', demo, { scope: 'read' }, call('get_price'), ['read']],
  ['a method', demo, { scope: 'read complete' }, message('completion/complete'), ['read', 'complete']],
  ['housekeeping', demo, { scope: 'read' }, message('initialize'), ['read']],
  ['what is not listed, in shadow', demo, { scope: 'read' }, call('drop'), ['read']],
  ['any call, where nothing is listed', { scope: 'read' }, { scope: 'read' }, call('pay'), ['read']],
  ['the alternative that holds', either, { scope: 'read admin' }, { kind: 'http' }, ['read', 'admin']],
  ['the other', either, { scope: 'read trade', claims: { role: 'trader' } }, { kind: 'http' }, ['read', 'trade']],
  ['none of them, in shadow', either, { scope: 'read' }, { kind: 'http' }, ['read', 'admin']],
  ['no policy to speak of', {}, {}, { kind: 'http' }, []],
  [
    'what cannot be evaluated, in shadow',
    { scope: 'read', any: [{ claims: { x: { matches: '^(a|b)$' } } }] },
    {
      scope: 'read',
      claims: Object.defineProperty({}, 'x', {
        enumerable: true,
        get: () => {
          throw new Error('x');
        },
      }),
    },
    { kind: 'http' },
    [],
  ],
])('%s', (_, document, given, attempt, expected) => {
  expect(compilePolicy('test', document).neededScopes(caller(given), attempt)).toEqual(expected);
});
