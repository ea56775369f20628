import { describe, expect, test } from 'vitest';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { maxMatchedLength } from '../../src/policy/predicate.ts';
import { type Given, caller, target } from './caller.ts';

const trader = { claims: { role: 'trader' } };

const policy: PolicyDocument = {
  scope: 'read',
  max_lifetime: '1m',
  not: { claims: { banned: true } },
  tools: {
    pay: { scope: 'payments', max_lifetime: '1s', arguments: { '/amount': { at_most: 0 } } },
    trade: { claims: { role: 'trader' } },
    either: { any: [{ claims: { role: 'trader' } }, { scope: 'x' }] },
    neither: { any: [{ claims: { role: 'trader' } }, { claims: { role: 'boss' } }] },
  },
  resources: { 'p://*': {}, 'p://gold': { claims: { role: 'trader' } } },
  prompts: { 'sum_*': {} },
};

test.each<[Given, string, boolean]>([
  [{ scope: 'read payments', lifetime: 1 }, 'tool pay', true],
  // What another token could bring, and what only the call can tell.
  [{}, 'tool pay', true],
  [{ lifetime: null }, 'tool pay', true],
  [{}, 'tool either', true],
  // What none could.
  [{}, 'tool trade', false],
  [trader, 'tool trade', true],
  [{}, 'tool neither', false],
  [trader, 'tool neither', true],
  [{ claims: { banned: true } }, 'tool pay', false],
  [{}, 'tool other', false],
  [{}, 'tool sum_up', false],
  [{}, 'prompt sum_up', true],
  [{}, 'prompt other', false],
  [{}, 'resource p://iron', true],
  [{}, 'resource p://gold', false],
  [trader, 'resource p://gold', true],
  [{}, 'resource p://a/b', false],
  [{}, 'resource p://..', false],
  [{}, 'template p://{x}', true],
  [{}, 'template p://{+x}', false],
])('%j, %s: %s', (given, text, expected) => {
  expect(compilePolicy('test', policy).couldCall(caller(given), target(text))).toBe(expected);
});

test.each<[PolicyDocument, Given, string, boolean]>([
  [{}, {}, 'tool t', true],
  [{ scope: 'read' }, {}, 'tool t', true],
  [{ claims: { role: 'trader' } }, {}, 'tool t', false],
  [{ claims: { role: 'trader' } }, trader, 'resource a:/../b', true],
  [{ tools: {} }, {}, 'resource a:b', false],
  [{ methods: {} }, {}, 'tool t', false],
  // What `methods` asks comes on top.
  [{ tools: { t: {} }, methods: { 'tools/*': { claims: { role: 'trader' } } } }, {}, 'tool t', false],
  [{ tools: { t: {} }, methods: { 'tools/*': { claims: { role: 'trader' } } } }, trader, 'tool t', true],
  [{ tools: { t: {} }, methods: { 'tools/*': { scope: 'x' } } }, {}, 'tool t', true],
  [{ resources: { 'a:*': {} }, methods: { 'resources/read': { not: {} } } }, {}, 'resource a:b', false],
  [{ resources: { 'a:*': {} }, methods: { 'resources/read': { not: {} } } }, {}, 'template a:{b}', false],
  [{ prompts: { p: {} }, methods: { 'prompts/get': { not: {} } } }, {}, 'prompt p', false],
  [{ prompts: { p: {} }, methods: { 'tools/call': { not: {} } }, tools: {} }, {}, 'prompt p', true],
  // A list hides what a call would be refused for: its name reads as another entry's.
  [{ tools: { 'get_*': {}, get_secret: { scope: 'x' } } }, {}, 'tool get_SECRET', false],
  [{ tools: { 'get_*': {}, get_secret: { scope: 'x' } } }, {}, 'tool get_Price', true],
  // In the shadow everything can be called.
  [{ ...policy, mode: 'shadow' }, {}, 'tool other', true],
])('%j, %j, %s: %s', (document, given, text, expected) => {
  expect(compilePolicy('test', document).couldCall(caller(given), target(text))).toBe(expected);
});

test('what cannot be evaluated cannot be called', () => {
  const policy = compilePolicy('test', { tools: { t: { not: { claims: { name: { matches: 'x' } } } } } });
  expect(policy.couldCall(caller({ claims: { name: 'y' } }), target('tool t'))).toBe(true);
  expect(policy.couldCall(caller({ claims: { name: 'y'.repeat(maxMatchedLength + 1) } }), target('tool t'))).toBe(
    false,
  );
});

describe('lists', () => {
  test.each<[PolicyDocument, string]>([
    [{}, 'show'],
    [{ scope: 'read' }, 'show'],
    [{ methods: {} }, 'show'],
    [{ tools: {} }, 'filter'],
    [{ resources: {} }, 'filter'],
    [{ prompts: {} }, 'filter'],
    [{ tools: {}, lists: 'show' }, 'show'],
    [{ lists: 'filter' }, 'filter'],
    [{ methods: {}, lists: 'filter' }, 'filter'],
    [{ tools: {}, mode: 'shadow' }, 'show'],
    [{ tools: {}, mode: 'shadow', lists: 'filter' }, 'show'],
  ])('%j: %s', (document, expected) => {
    expect(compilePolicy('test', document).lists).toBe(expected);
  });
});

test('only tools become labels', () => {
  const compiled = compilePolicy('test', policy);
  expect(compiled.toolEntry('pay')).toBe('pay');
  expect(compiled.toolEntry('sum_up')).toBeUndefined();
  expect(compilePolicy('test', { prompts: {} }).toolEntry('pay')).toBeUndefined();
});
