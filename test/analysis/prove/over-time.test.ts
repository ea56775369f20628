import { describe, expect, test } from 'vitest';
import { comparePolicies } from '../../../src/analysis/compare/compare.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import type { PropertyDocument } from '../../../src/policy-files/property.ts';
import type { Proof } from '../../../src/analysis/prove/prove.ts';
import { deciding, policyOf, proofOf } from './deciding.ts';

const claims: PolicyDocument = {
  tools: {
    approve: {},
    disburse: {
      after: { tool: 'approve', within: '1h', same: ['/claim_id'] },
      quota: [{ count: 2, per: '1h' }],
    },
    pay: { quota: [{ sum: '/amount', at_most: 5000, per: '1d', by: 'everyone' }] },
    read_secret: {},
    send_email: { never_after: { tool: 'read_*', within: '1d', by: 'everyone' } },
    rest: { never_after: { tool: 'rest', within: '1m' }, quota: [{ count: 1, per: '1h' }] },
  },
};

const alice = { claims: { sub: { matches: '^' } } };

function property(forAll: object, ...[when, wanted]: Wanted): Omit<PropertyDocument, 'name'> {
  // oxlint-disable-next-line unicorn/no-thenable -- a property has it
  return { for_all: forAll, when, then: wanted };
}

type Wanted = readonly [when: PropertyDocument['when'], then: PropertyDocument['then']];

function proof(when: PropertyDocument['when'], then: PropertyDocument['then'], forAll: object = alice): Proof {
  return proofOf(claims, property(forAll, when, then));
}

function given(when: PropertyDocument['when'], then: PropertyDocument['then'], forAll: object = alice): unknown {
  const found = proof(when, then, forAll);
  if (found.outcome !== 'fails') return found;
  return { ...found.counterexample, reason: found.decision.allow ? 'allow' : found.decision.denial.reason };
}

describe('R-275: a property counts rules over time as both met and refusing', () => {
  test('so that earlier calls refute that a call is always allowed', () => {
    expect(given({ tool: 'send_email' }, 'allow')).toEqual({
      given: { claims: { sub: expect.any(String) as string }, history: [{ tool: 'read_x', ago: '0s' }] },
      when: { tool: 'send_email' },
      reason: 'history.forbidden',
    });
    expect(given({ tool: 'pay', arguments: { '/amount': { above: 0, at_most: 5000 } } }, 'allow', {})).toEqual({
      given: { history: [{ tool: 'pay', arguments: { amount: 5000 }, ago: '0s' }] },
      when: { tool: 'pay', arguments: { amount: expect.any(Number) as number } },
      reason: 'quota.exceeded',
    });
  });

  test('and that a call is always refused', () => {
    expect(given({ tool: 'disburse' }, 'deny')).toMatchObject({
      given: { history: [{ tool: 'approve', arguments: { claim_id: expect.anything() as unknown }, ago: '0s' }] },
      when: { tool: 'disburse', arguments: { claim_id: expect.anything() as unknown } },
      reason: 'allow',
    });
    expect(given({ tool: 'send_email' }, 'deny')).toMatchObject({ when: { tool: 'send_email' }, reason: 'allow' });
  });

  test('and that it is refused for one reason', () => {
    expect(
      given({ tool: 'disburse' }, { deny: ['history.missing', 'quota.exceeded', 'argument.denied'] }),
    ).toMatchObject({
      reason: 'allow',
    });
    expect(given({ tool: 'disburse' }, 'allow')).toMatchObject({ reason: 'history.missing' });
  });

  test('without a challenge', () => {
    const without = { tool: 'disburse', arguments: { '/claim_id': { present: false } } };
    expect(proof(without, { deny: 'history.missing', challenge: '' }).outcome).toBe('holds');
    expect(proof(without, { deny: 'history.missing', challenge: 'read' }).outcome).toBe('fails');
  });

  test('but a call that can never meet one is always refused', () => {
    const without = { tool: 'disburse', arguments: { '/claim_id': { present: false } } };
    expect(proof(without, { deny: 'history.missing' }).outcome).toBe('holds');
    expect(proof(without, 'deny').outcome).toBe('holds');
  });

  test('nor one that a call without a comparable value forbids, whatever its own value', () => {
    const never = { tool: 'read', within: '1h', same: ['/a', '/b'] };
    const document = { tools: { read: {}, send: { never_after: never } } };
    for (const present of [true, false]) {
      const when = { tool: 'send', arguments: { '/a': { present } } };
      const found = proofOf(document, property(alice, when, { deny: 'argument.denied' }));
      expect(found).toMatchObject({ outcome: 'fails', decision: { allow: true } });
      const refuted = proofOf(document, property(alice, when, 'allow'));
      expect(refuted).toMatchObject({ outcome: 'fails', decision: { allow: false } });
    }
    const without = { tool: 'send', arguments: { '/a': { present: false }, '/b': { present: false } } };
    expect(proofOf(document, property(alice, without, 'allow'))).toMatchObject({
      outcome: 'fails',
      counterexample: { given: { history: [{ tool: 'read', ago: '0s' }] } },
      decision: { denial: { reason: 'history.forbidden' } },
    });
    expect(proofOf(document, property(alice, { tool: 'read' }, 'allow')).outcome).toBe('holds');
  });

  test('and an amount of nothing never exceeds a sum', () => {
    const nothing = { tool: 'pay', arguments: { '/amount': 0 } };
    expect(proof(nothing, 'allow', {}).outcome).toBe('holds');
  });

  test('callers and amounts that cannot be counted are refused, also in calls that rules look back at', () => {
    const nameless = { claims: { sub: { at_least: 0 } } };
    expect(proof({ tool: 'disburse' }, { deny: 'claim.denied' }, nameless).outcome).toBe('holds');
    expect(proof({ tool: 'approve' }, { deny: 'claim.denied' }, nameless).outcome).toBe('holds');
    expect(proof({ tool: 'rest' }, { deny: 'history.forbidden' }, {}).outcome).toBe('fails');
    expect(proof({ tool: 'pay', arguments: { '/amount': { above: 5000 } } }, { deny: 'argument.denied' }).outcome).toBe(
      'holds',
    );
    expect(proof({ tool: 'pay', arguments: { '/amount': { below: 0 } } }, { deny: 'argument.denied' }).outcome).toBe(
      'holds',
    );
    expect(given({ tool: 'approve' }, 'allow', {})).toMatchObject({ reason: 'claim.denied' });
    expect(proof({ tool: 'approve' }, 'allow').outcome).toBe('holds');
  });

  test('looks at tools that a pattern decides and a rule covers', () => {
    const document = { tools: { '*': {}, pay: { after: { tool: 'ok_1', within: '1h' } } } };
    const found = proofOf(document, property({}, { tool: { not: 'pay' } }, 'allow'));
    expect(found).toMatchObject({ outcome: 'fails', counterexample: { when: { tool: 'ok_1' } } });
  });

  test('finds earlier calls between two windows', () => {
    const wanted = { deny: ['history.forbidden'] } as const;
    expect(given({ tool: 'rest', arguments: {} }, wanted)).toMatchObject({ reason: 'allow' });
    const never = { tools: { rest: { ...claims.tools?.['rest'], claims: { sub: 'x' } } } };
    const found = proofOf(never, property(alice, { tool: 'rest' }, 'allow'));
    expect(found).toMatchObject({ outcome: 'fails' });
  });

  test('is undecided where no earlier calls are known', () => {
    const both = {
      tools: { a: {}, b: { after: { tool: 'a', within: '1h' }, never_after: { tool: 'a', within: '1d' } } },
    };
    expect(proofOf(both, property(alice, { tool: 'b' }, 'deny'))).toEqual({
      outcome: 'undecided',
      why: ['tools.b.never_after: no earlier calls are known for which the rules over time are all met'],
    });
  });
});

describe('R-276: compare', () => {
  const edited = (disburse: object): readonly unknown[] => {
    const after = { tools: { ...claims.tools, disburse } };
    const { differences, undecided } = comparePolicies(policyOf(claims), policyOf(after), deciding());
    expect(undecided).toEqual([]);
    return differences.map(({ kind, rule, was, now }) => [kind, rule, was, now]);
  };
  const { after, quota } = claims.tools?.['disburse'] ?? {};
  const approved = 'tools.disburse.after: an answered call of approve within 1h with the same /claim_id';
  const was = `${approved}; tools.disburse.quota[0]: at most 2 calls per 1h`;

  test('shows a rule over time that changed', () => {
    const now = `${approved}; tools.disburse.quota[0]: at most 3 calls per 1h`;
    expect(edited({ after, quota: [{ count: 3, per: '1h' }] })).toEqual([
      ['rules over time changed', 'tools.disburse', was, now],
    ]);
  });

  test('shows a rule over time that is gone, and none that is the same', () => {
    expect(edited({ after })).toEqual([['rules over time changed', 'tools.disburse', was, approved]]);
    expect(edited({ quota, after, because: 'Approve it first.' })).toEqual([]);
  });

  test('shows a tool that an entry without the rules now decides', () => {
    const before = policyOf({ tools: { 'pay_*': { quota: [{ count: 1, per: '1h', by: 'everyone' }] } } });
    const now = policyOf({ tools: { 'pay_*': { quota: [{ count: 1, per: '1h', by: 'everyone' }] }, pay_a: {} } });
    expect(comparePolicies(before, now, deciding()).differences).toEqual([
      {
        kind: 'rules over time changed',
        rule: 'tools.pay_a',
        was: 'tools.pay_*.quota[0]: at most 1 calls per 1h by everyone',
        now: 'none',
      },
    ]);
  });
});
