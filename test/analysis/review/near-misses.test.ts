import { describe, expect, test } from 'vitest';
import { nearMisses } from '../../../src/analysis/review/explained.ts';
import type { Attempt } from '../../../src/core/model/policy.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { call, caller, type Given, message } from '../../core/policy/caller.ts';
import { explain } from '../../../src/analysis/review/explanation.ts';

function near(document: PolicyDocument, given: Given, attempt: Attempt = { kind: 'http' }): readonly string[] {
  const policy = compilePolicy('p', document);
  const principal = caller(given);
  const decision = policy.decide(principal, attempt);
  const scope = decision.allow ? [] : decision.denial.scope;
  return nearMisses(policy, principal, attempt, explain(decision.plan, principal, attempt), scope);
}

const named = (kind: string, found: string, wanted: string): string =>
  `the ${kind} "${found}" resembles "${wanted}", which the policy names`;

describe('R-217: explain names what a name resembles', () => {
  test.each([
    ['get_sum', 'get-*', true],
    ['getSum', 'get_sum', true],
    ['GetSum', 'get_*', true],
    ['transferFundsNow', 'transfer_funds_now', true],
    ['gte_sum', 'get_*', true],
    ['get_smu', 'get_sum', true],
    ['sum_get', '*_get', false],
    ['x', '*_get', false],
    ['delete', 'get_*', false],
    ['transfer', 'get_sum', false],
  ])('tool %s beside %s: %s', (tool, listed, isNear) => {
    expect(near({ tools: { [listed]: {} } }, {}, call(tool))).toEqual(isNear ? [named('tool', tool, listed)] : []);
  });

  test('among entries of its own kind', () => {
    const document = { tools: { 'get-*': {} }, prompts: { get_sum: {} }, resources: { 'file:///a': {} } };
    expect(near(document, {}, call('get_sum'))).toEqual([named('tool', 'get_sum', 'get-*')]);
    expect(near(document, {}, message('resources/read', 'resource file:///A'))).toEqual([
      named('resource', 'file:///A', 'file:///a'),
    ]);
  });

  test('among the requests of its method', () => {
    const requests = { 'GET /orders/export': {}, 'PUT /orders/*/address': {}, 'PUT /order': {} };
    expect(near({ requests }, {}, { kind: 'http', request: 'GET /orders/Export' })).toEqual([
      named('request', 'GET /orders/Export', 'GET /orders/export'),
    ]);
  });

  test('among the methods of the protocol', () => {
    expect(near({ tools: {} }, {}, message('tools/cal'))).toEqual([named('method', 'tools/cal', 'tools/call')]);
  });

  test.each<[PolicyDocument, string, readonly string[]]>([
    [{ scope: 'write' }, 'wirte', [named('scope', 'wirte', 'write')]],
    [{ scope: 'write' }, 'Write', [named('scope', 'Write', 'write')]],
    [{ scope: 'read write' }, 'read,write', ['"read,write" is one scope: separate scopes by spaces']],
    [{ scope: 'write' }, 'read', []],
    [{ scope: 'write' }, 'write wirte', []],
    [{ tools: { pay: { scope: 'payments' } } }, 'payment', [named('scope', 'payment', 'payments')]],
  ])('%j: scope %s', (document, scope, notes) => {
    expect(near(document, { scope }, call('pay'))).toEqual(notes);
  });

  test('a missing scope of a call that is refused for another reason', () => {
    expect(near({ scope: 'write', tools: {} }, { scope: 'wirte' }, call('pay'))).toEqual([
      named('scope', 'wirte', 'write'),
    ]);
  });

  test.each<[string, Record<string, unknown>, readonly string[]]>([
    ['role', { rol: 'x' }, [named('claim', 'rol', 'role')]],
    ['role', { Role: 'x' }, [named('claim', 'Role', 'role')]],
    [
      'realm_access.roles',
      { realm_access: { roles: [] } },
      [named('claim', '/realm_access/roles', 'realm_access.roles')],
    ],
    ['role', { department: 'x' }, []],
    ['role', { role: 'y', rol: 'x' }, []],
  ])('claim %s in %j', (name, claims, notes) => {
    expect(near({ claims: { [name]: 'x' } }, { claims })).toEqual(notes);
  });

  test('a missing argument', () => {
    const document = { tools: { pay: { arguments: { '/amount': { at_most: 10 } } } } };
    expect(near(document, {}, call('pay', { ammount: 1 }))).toEqual([named('argument', 'ammount', '/amount')]);
    expect(near(document, {}, call('pay', [1]))).toEqual([]);
  });

  test('nothing for a call that is allowed', () => {
    expect(
      near({ scope: 'read', tools: { 'get_*': {}, get_sum: {} } }, { scope: 'read raed' }, call('get_sums')),
    ).toEqual([]);
  });

  test('cut and escaped', () => {
    expect(near({ scope: 'write' }, { scope: 'w\u202erite' })).toEqual([
      'the scope "w\\u{202e}rite" resembles "write", which the policy names',
    ]);
  });
});
