import { expect, test } from 'vitest';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import { decideAfter } from '../../../src/analysis/review/earlier-calls.ts';
import { call, caller } from '../../core/policy/caller.ts';

const policy = compilePolicy('test', {
  tools: { read: {}, send: { never_after: { tool: 'read', within: '1h', same: ['/id'] } } },
});

test.each([
  ['another value', { id: 8 }, 'holds no call'],
  ['the same text', { id: '7' }, 'fails a call 60 s ago'],
  ['a value that cannot be compared', { id: [8] }, 'fails a call 60 s ago'],
])('shows what never_after with `same` found after a call with %s', (_, earlier, wanted) => {
  const { decision, conditions } = decideAfter({
    policy,
    principal: caller({}),
    attempt: call('send', { id: 7 }),
    earlier: [{ tool: 'read', arguments: earlier, ago: '1m' }],
  });
  const shown = conditions.filter(({ kind }) => kind === 'history').map(({ outcome, found }) => `${outcome} ${found}`);
  expect(shown).toEqual([wanted]);
  expect(decision.allow).toBe(wanted.startsWith('holds'));
});

test('a call whose arguments cannot be judged is refused, whether or not an approval is given', () => {
  const when = { arguments: { '/n': { above: 1 } } };
  const paying = compilePolicy('p', { tools: { pay: { approval: { when, by: {} } } } });
  const attempt = call('pay', { N: 5 });
  for (const approval of ['none', 'approved'] as const) {
    const { decision } = decideAfter({ policy: paying, principal: caller(), attempt, earlier: [], approval });
    expect(decision.allow ? 'allow' : decision.denial.reason).toBe('policy.error');
  }
});
