import { expect, test } from 'vitest';
import type { PolicyFault } from '../../../src/core/policy/document.ts';
import {
  compileVariables,
  isVariableMet,
  targetAt,
  variableValue,
  type VariableCondition,
} from '../../../src/core/policy/variable.ts';
import { alice, call, message } from './caller.ts';

function compiled(document: object, key: 'requests' | 'tools', entry: string) {
  const faults: PolicyFault[] = [];
  return { conditions: compileVariables(document as never, { key, entry, path: [key, entry], faults }), faults };
}

test('a variable that no text stands for meets no condition', () => {
  const [condition] = compiled({ id: { not: 'admin' } }, 'requests', 'GET /users/{id}').conditions as [
    VariableCondition,
  ];
  expect(isVariableMet(condition, alice, 'GET /users/1')).toBe(true);
  expect(isVariableMet(condition, alice, 'GET /users/admin')).toBe(false);
  expect(isVariableMet(condition, alice, 'GET /users/%FF')).toBe(false);
  expect(isVariableMet(condition, alice, 'GET /other')).toBe(false);
  expect(isVariableMet(condition, alice, undefined)).toBe(false);
});

test.each([
  ['a%20b', 'a b'],
  ['a+b', 'a+b'],
  ['a%2Fb', undefined],
  ['a%5Cb', undefined],
  ['a%00', undefined],
  ['a%0A', undefined],
  ['a%252F', 'a%2F'],
  ['%FF', undefined],
])('the value of %j is %j', (text, value) => {
  expect(variableValue(text)).toBe(value);
});

test('a target is that of its entry', () => {
  expect(targetAt(message('resources/read', 'resource a', 'resource b'), 1)).toBe('b');
  expect(targetAt({ kind: 'http', request: 'GET /' }, 0)).toBe('GET /');
  expect(targetAt(call(undefined), 0)).toBeUndefined();
});

test('only resources and requests have variables, those of their key', () => {
  expect(compiled({ id: 'x' }, 'tools', 'pay')).toEqual({
    conditions: [],
    faults: [
      { path: ['tools', 'pay', 'variables'], message: 'tools have no variables; only resources and requests do' },
    ],
  });
  expect(compiled({ id: 'x' }, 'requests', 'GET /{a}/{b}').faults).toEqual([
    {
      path: ['requests', 'GET /{a}/{b}', 'variables', 'id'],
      message: '"GET /{a}/{b}" has no variable {id}; it has a, b',
    },
  ]);
});
