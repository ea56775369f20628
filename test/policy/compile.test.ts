import { describe, expect, test } from 'vitest';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { PolicyError, type PolicyFault } from '../../src/policy/policy-error.ts';

function faults(document: PolicyDocument): readonly PolicyFault[] {
  try {
    compilePolicy('demo', document);
  } catch (error) {
    if (error instanceof PolicyError) return error.faults;
    throw error;
  }
  return [];
}

test('a policy tells its name, its own scope and which entry covers a tool, as written', () => {
  const policy = compilePolicy('demo', {
    scope: 'read write read',
    all: [{ scope: 'nested' }],
    tools: { 'get_**': {}, pay: { scope: 'payments' } },
  });
  expect(policy).toMatchObject({ name: 'demo', scope: ['read', 'write'] });
  expect(['get_price', 'pay', 'other'].map((tool) => policy.toolEntry(tool))).toEqual(['get_**', 'pay', undefined]);
});

test('a policy without scope or tools tells none', () => {
  const policy = compilePolicy('demo', {});
  expect(policy.scope).toEqual([]);
  expect(policy.toolEntry('pay')).toBeUndefined();
});

describe('faults', () => {
  test('all at once, each with its path', () => {
    const found = faults({
      claims: { '/a~b': 'x', name: { matches: '(' } },
      any: [{}, { claims: { risk: { below: Number.NaN } } }],
      all: [{ not: { claims: { id: 2 ** 53 } } }],
      tools: { 'get_*': {}, 'get_**': { claims: { name: { not: { matches: '[' } } } } },
    });
    expect(found.map(({ path }) => path)).toEqual([
      ['claims', '/a~b'],
      ['claims', 'name', 'matches'],
      ['any', 1, 'claims', 'risk', 'below'],
      ['all', 0, 'not', 'claims', 'id'],
      ['tools', 'get_**', 'claims', 'name', 'not', 'matches'],
      ['tools', 'get_**'],
    ]);
  });

  test('a malformed JSON Pointer says how to write it', () => {
    expect(faults({ claims: { '/a~b': 'x' } })[0]?.message).toBe(
      '"/a~b" is not a JSON Pointer (RFC 6901): within a name "~" is written "~0" and "/" is written "~1"',
    );
  });

  test('a message is one line, whatever the expression', () => {
    expect(faults({ claims: { name: { matches: 'a\n: (' } } })[0]?.message).toBe(
      String.raw`"a\n: (" is not a JavaScript regular expression with the u flag: Unterminated group`,
    );
  });
});
