import { describe, expect, test } from 'vitest';
import type { Decision } from '../../src/core/model/policy.ts';
import type { PolicyDenial } from '../../src/core/model/denial.ts';
import { compilePolicy } from '../../src/policy-parts/compile.ts';
import { compiledRules } from '../../src/core/policy/compile.ts';
import type { PolicyFault } from '../../src/core/policy/document.ts';
import {
  compileProperty,
  expectedReasons,
  isExpected,
  type McpPattern,
  type Property,
  type PropertyDocument,
} from '../../src/policy-files/property.ts';
import { requestSource, uriSource } from '../../src/policy-files/key-sources.ts';
import { isVariableMet } from '../../src/core/policy/variable.ts';
import { alice, caller } from '../core/policy/caller.ts';

function compiled(document: Partial<PropertyDocument>, faults: PolicyFault[] = []): Property {
  const whole = Object.assign({ name: 'it', for_all: {}, when: {} }, document) as PropertyDocument;
  return compileProperty(whole, [3], faults);
}

/** Whether a property speaks of a caller with a claim. */
function describes(for_all: PropertyDocument['for_all'], claims: Readonly<Record<string, unknown>>): boolean {
  return compiled({ for_all }).callers.judge(caller({ claims })) === 'met';
}

describe('`not` in a property is the exact complement', () => {
  test.each([
    ['another value', 'clerk'],
    ['a list', ['trader']],
    ['a number', 5],
    ['null', null],
    ['no value', undefined],
  ])('%s is no trader', (_what, role) => {
    const claims = role === undefined ? {} : { role };
    expect(describes({ claims: { role: 'trader' } }, claims)).toBe(false);
    expect(describes({ not: { claims: { role: 'trader' } } }, claims)).toBe(true);
    expect(describes({ claims: { role: { not: 'trader' } } }, claims)).toBe(true);
    expect(describes({ not: { claims: { role: { not: 'trader' } } } }, claims)).toBe(false);
    expect(describes({ not: { not: { claims: { role: 'trader' } } } }, claims)).toBe(false);
  });

  test('a list of other values does not contain one', () => {
    expect(describes({ claims: { roles: { not: { contains: 'trader' } } } }, { roles: [5] })).toBe(true);
    expect(describes({ claims: { '/r/x': { not: { present: true } } } }, { r: 'text' })).toBe(true);
  });

  test('a policy counts them as excluded', () => {
    const policy = compilePolicy('p', { not: { claims: { role: 'trader' } } });
    const decide = (role: unknown): boolean => policy.decide(caller({ claims: { role } }), { kind: 'http' }).allow;
    expect([decide('clerk'), decide(5), decide(['trader'])]).toEqual([true, false, false]);
  });
});

describe('the calls of a property', () => {
  const calls = (when: PropertyDocument['when']): Property['calls'] => compiled({ when }).calls;
  const mcp = (when: PropertyDocument['when']): McpPattern => calls(when) as McpPattern;

  test('are requests on an HTTP route, or all, or messages', () => {
    expect([calls({}), calls('any')]).toEqual([{ kind: 'http', variables: [] }, { kind: 'any' }]);
    expect(mcp({ method: 'ping' })).toMatchObject({ kind: 'mcp', target: undefined, arguments: [] });
  });

  test.each(['tool', 'resource', 'template', 'prompt'] as const)('name each %s by predicates', (kind) => {
    const { target, method } = mcp({ [kind]: { not: ['a', 'b'] } });
    expect([target?.kind, method]).toEqual([kind, undefined]);
    expect(['a', 'c'].map((name) => target?.name.every((each) => each.test(name)))).toEqual([false, true]);
    expect(mcp({ [kind]: 'any' }).target?.name).toEqual([]);
    expect(mcp({ [kind]: { not: { not: { below: 5 } } } }).target?.name.map((each) => each.test('x'))).toEqual([false]);
    expect(mcp({ [kind]: 'x' }).target?.name.map((each) => each.test('x'))).toEqual([true]);
  });

  test('may be those that a key of requests covers, with conditions on its variables', () => {
    const pattern = calls({ request: 'GET /users/{id}', variables: { id: { not: 'me' } } });
    if (pattern.kind !== 'http') throw new TypeError('they are requests');
    const { request, variables } = pattern;
    // HEAD is GET without a body, RFC 9110 §9.3.2.
    const names = ['GET /users/1', 'GET /users/me', 'HEAD /users/1', 'GET /users/1/x', 'POST /users/1', 5];
    const covered = names.filter((name) => request?.every((each) => each.test(name)));
    expect(covered).toEqual(['GET /users/1', 'GET /users/me', 'HEAD /users/1']);
    expect(request).toMatchObject([
      { wanted: '', operand: { kind: 'pattern', source: requestSource('GET /users/{id}') } },
    ]);
    const met = ['GET /users/1', 'HEAD /users/1', 'GET /users/me'].map((name) =>
      variables.every((each) => isVariableMet(each, alice, name)),
    );
    expect(met).toEqual([true, true, false]);
    expect(variables).toMatchObject([{ rule: '[3].when.variables.id', key: 'requests' }]);
  });

  test('or that a key of resources covers', () => {
    const { target, variables } = mcp({ resource: 'crm://{tenant}/**', variables: { tenant: { not: 5 } } });
    const names = ['crm://acme/x', 'crm://', 'http://acme/x', 5];
    expect(names.map((name) => target?.name.every((each) => each.test(name)))).toEqual([true, false, false, false]);
    expect(target?.name).toMatchObject([{ operand: { kind: 'pattern', source: uriSource('crm://{tenant}/**') } }]);
    expect(variables).toMatchObject([{ key: 'resources' }]);
    // It is read literally: a text is not the number.
    expect(variables.map((each) => isVariableMet(each, alice, 'crm://acme/x'))).toEqual([true]);
  });

  test.for<PropertyDocument['when']>([
    { request: ['GET /users/{id}'], variables: { id: 'x' } },
    { tool: 'x', variables: { id: 'x' } },
  ])('have variables of one key alone: %j', (when) => {
    const faults: PolicyFault[] = [];
    expect(compiled({ when }, faults).calls).toMatchObject({ variables: [] });
    expect(faults).toEqual([
      {
        path: [3, 'when', 'variables'],
        message: "needs one key of the policy beside it: { request: 'GET /users/{id}' }, or resource",
      },
    ]);
  });

  test('variables that the key lacks are faults', () => {
    const faults: PolicyFault[] = [];
    compiled({ when: { request: 'GET /{a}', variables: { b: 'x' } } }, faults);
    compiled({ when: { resource: 'a:{a}', variables: { b: 'x' } } }, faults);
    expect(faults).toEqual([
      { path: [3, 'when', 'variables', 'b'], message: '"GET /{a}" has no variable {b}; it has a' },
      { path: [3, 'when', 'variables', 'b'], message: '"a:{a}" has no variable {b}; it has a' },
    ]);
  });

  test('may have a method and arguments', () => {
    const { method, arguments: args } = mcp({
      prompt: 'x',
      method: ['a', 'b'],
      arguments: { '/n': { not: { below: 5 } } },
    });
    expect(method?.map(({ test }) => [test('a'), test('c')])).toEqual([[true, false]]);
    expect(args.map(({ rule, read, predicates }) => [rule, predicates[0]?.test(read({ n: 'text' }))])).toEqual([
      ['[3].when.arguments./n', true],
    ]);
    expect(mcp({ method: 'any' }).method).toEqual([]);
    const twice = mcp({ tool: 'x', arguments: { '/n': { not: { not: { below: 5 } } } } });
    expect(twice.arguments[0]?.predicates.map((each) => each.test('text'))).toEqual([false]);
  });
});

test('a property names each fault by its place', () => {
  const faults: PolicyFault[] = [];
  const when = { tool: { matches: '(' }, method: { matches: '[' }, arguments: { '/~': 1 } };
  compiled({ for_all: { claims: { '/~': 'x' } }, when }, faults);
  expect(faults.map(({ path }) => path)).toEqual([
    [3, 'for_all', 'claims', '/~'],
    [3, 'when', 'tool', 'matches'],
    [3, 'when', 'method', 'matches'],
    [3, 'when', 'arguments', '/~'],
  ]);
  const ofRequest: PolicyFault[] = [];
  compiled({ when: { request: { matches: '(' } } }, ofRequest);
  expect(ofRequest.map(({ path }) => path)).toEqual([[3, 'when', 'request', 'matches']]);
});

test('callers and names are compared with constants', () => {
  const faults: PolicyFault[] = [];
  const tenant = { claim: 'tenant' };
  compiled({ for_all: { claims: { org: tenant } }, when: { tool: { not: tenant } } }, faults);
  const message = 'compares with claim tenant; write a constant: arguments and variables may name claims';
  expect(faults).toEqual([
    { path: [3, 'for_all'], message },
    { path: [3, 'when', 'tool'], message },
  ]);
});

describe('a decision is expected', () => {
  const denial: PolicyDenial = { reason: 'scope.insufficient', detail: '', rule: 'scope', scope: ['read', 'pay'] };
  const allow: Decision = { allow: true, rule: 'policy' };
  const deny: Decision = { allow: false, rule: 'scope', denial };
  const shadow: Decision = { allow: true, rule: 'scope', shadow: denial };
  test.each<[wanted: Property['wanted'], onAllow: boolean, onDeny: boolean]>([
    ['allow', true, false],
    ['deny', false, true],
    [{ deny: 'scope.insufficient' }, false, true],
    [{ deny: ['claim.denied', 'scope.insufficient'] }, false, true],
    [{ deny: ['claim.denied'] }, false, false],
    [{ deny: 'scope.insufficient', challenge: 'read pay' }, false, true],
    [{ deny: 'scope.insufficient', challenge: 'pay read' }, false, false],
    [{ deny: 'scope.insufficient', challenge: '' }, false, false],
  ])('%j', (wanted, onAllow, onDeny) => {
    expect([allow, deny, shadow].map((decision) => isExpected(decision, wanted))).toEqual([onAllow, onDeny, onDeny]);
  });

  test('by one reason or several', () => {
    expect(expectedReasons({ deny: 'claim.denied' })).toEqual(['claim.denied']);
    expect(expectedReasons({ deny: ['claim.denied', 'tool.unlisted'] })).toEqual(['claim.denied', 'tool.unlisted']);
  });
});

test('a property keeps its name and what it wants', () => {
  const document = JSON.parse('{"name":"n","for_all":{},"when":{},"then":"deny"}') as PropertyDocument;
  const { name, wanted } = compileProperty(document, [], []);
  expect([name, wanted]).toEqual(['n', 'deny']);
});

test('only a compiled policy has rules', () => {
  const policy = compilePolicy('p', { scope: 'read', because: 'why' });
  expect(compiledRules(policy)).toMatchObject({
    condition: { kind: 'all' },
    listing: undefined,
    because: 'why',
    mode: 'enforce',
  });
  expect(() => compiledRules({ ...policy })).toThrow('p is not a compiled policy');
});
