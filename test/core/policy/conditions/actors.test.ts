import { approvalsKey } from '../../../../src/policy-parts/approvals/key.ts';
import { describe, expect, test } from 'vitest';
import type { Principal } from '../../../../src/core/model/principal.ts';
import type { ActorsDocument, ConditionDocument } from '../../../../src/core/policy/document.ts';
import { compileActors } from '../../../../src/core/policy/conditions/actors.ts';
import { compilePolicy } from '../../../../src/policy-parts/compile.ts';
import { alice, call, caller } from '../caller.ts';

const issuer = 'https://as.example';

/** A caller with these actors, the current one first. */
function actedFor(...subjects: readonly string[]): Principal {
  return subjects.length === 0 ? alice : { ...alice, actors: subjects.map((subject) => ({ issuer, subject })) };
}

function decided(document: ConditionDocument, principal: Principal): string {
  const decision = compilePolicy('test', document).decide(principal, { kind: 'http' });
  return decision.allow ? 'allow' : `${decision.denial.reason} ${decision.denial.rule}`;
}

describe('R-358: actors', () => {
  test.for<[ActorsDocument, readonly string[], string]>([
    [{ count: { at_most: 1 } }, [], 'allow'],
    [{ count: { at_most: 1 } }, ['a'], 'allow'],
    [{ count: { at_most: 1 } }, ['a', 'b'], 'actor.denied actors.count'],
    [{ count: 0 }, [], 'allow'],
    [{ count: 0 }, ['a'], 'actor.denied actors.count'],
    [{ current: ['agent-7'] }, ['agent-7'], 'allow'],
    [{ current: ['agent-7'] }, ['other', 'agent-7'], 'actor.denied actors.current'],
    [{ current: ['agent-7'] }, [], 'actor.denied actors.current'],
    [{ current: { present: false } }, [], 'actor.denied actors.current'],
    [{ current: { not: 'agent-7' } }, [], 'actor.denied actors.current'],
    [{ current: { not: 'agent-7' } }, ['b'], 'allow'],
    [{ each: { matches: '^agent-' } }, [], 'allow'],
    [{ each: { matches: '^agent-' } }, ['agent-1', 'agent-2'], 'allow'],
    [{ each: { matches: '^agent-' } }, ['agent-1', 'tool'], 'actor.denied actors.each'],
    [{ count: { at_most: 1 }, current: 'x' }, ['a', 'b'], 'actor.denied actors.count'],
    [{ current: { claim: 'tenant' } }, ['acme'], 'allow'],
    [{ current: { claim: 'tenant' } }, ['other'], 'actor.denied actors.current'],
  ])('%j of %j: %s', ([actors, subjects, expected]) => {
    expect(decided({ actors }, actedFor(...subjects))).toBe(expected);
  });

  test.for<[ConditionDocument, readonly string[], string]>([
    [{ not: { actors: { current: 'agent-7' } } }, [], 'allow'],
    [{ not: { actors: { current: 'agent-7' } } }, ['agent-7'], 'exclusion.matched not'],
    [{ any: [{ actors: { count: 0 } }, { actors: { current: 'a' } }] }, ['a'], 'allow'],
    [{ any: [{ actors: { count: 0 } }, { actors: { current: 'a' } }] }, ['b'], 'alternatives.exhausted any'],
  ])('%j of %j: %s', ([document, subjects, expected]) => {
    expect(decided(document, actedFor(...subjects))).toBe(expected);
  });

  test('an approval is asked for where its actor calls, and nowhere else', () => {
    const policy = compilePolicy('test', {
      tools: { pay: { approval: { when: { actors: { current: 'agent-7' } }, by: {} } } },
    });
    const payment = call('pay');
    const needs = (principal: Principal): boolean => {
      const { plan } = policy.decide(principal, payment);
      return approvalsKey.inPlan(plan)?.needed(principal, payment) !== undefined;
    };
    expect([actedFor('agent-7'), actedFor('b'), actedFor()].map(needs)).toEqual([true, false, false]);
  });

  test.for<[ActorsDocument, readonly string[], wanted: string, found: string]>([
    [{ count: { at_most: 1 } }, ['a', 'b'], 'the number of actors: a number of at most 1', '2'],
    [{ count: { at_most: 1 } }, ['a'], 'the number of actors: a number of at most 1', '1'],
    [{ current: 'a' }, ['b', 'c'], 'the current actor: "a"', '"b"'],
    [{ current: 'a' }, ['a', 'c'], 'the current actor: "a"', '"a"'],
    [{ each: ['a', 'b'] }, ['a', 'b'], 'each actor: one of "a", "b"', '"a", "b"'],
    [{ each: ['a', 'b'] }, ['a', 'c'], 'each actor: one of "a", "b"', '"c"'],
    [{ each: 'a' }, [], 'each actor: "a"', 'no actor'],
  ])('%j of %j explains what it wants and finds', ([actors, subjects, wanted, found]) => {
    const [condition] = compileActors(actors, { path: ['actors'], faults: [], reading: 'direct' });
    expect(condition?.words(actedFor(...subjects))).toEqual({ wanted, found });
  });

  test('a proof knows what it is about, and that nothing mends it', () => {
    const [condition] = compileActors({ count: 0 }, { path: ['actors'], faults: [], reading: 'direct' });
    const reads = { actors: { part: 'count', predicates: [{ wanted: '0' }] } };
    expect(condition).toMatchObject({ kind: 'actors', unmet: 'refused', reads });
    expect([actedFor(), actedFor('a')].map((principal) => condition?.judge(principal))).toEqual(['met', 'refused']);
  });

  test('a denial names what it found', () => {
    const decision = compilePolicy('test', { actors: { each: { matches: '^agent-' } } }).decide(
      actedFor('agent-1', 'cron'),
      { kind: 'http' },
    );
    expect(decision).toMatchObject({
      denial: { detail: 'wanted each actor: a string that matches "^agent-", found "cron"' },
    });
  });

  test('what a claim says of `act` counts only in `claims`', () => {
    expect(decided({ actors: { count: 0 } }, caller({ claims: { actors: ['a'] } }))).toBe('allow');
  });
});
