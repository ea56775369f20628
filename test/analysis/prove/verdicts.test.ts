import { expect, test } from 'vitest';
import { compiledRules } from '../../../src/core/policy/compile.ts';
import { Space } from '../../../src/analysis/prove/space.ts';
import { verdictsOn } from '../../../src/analysis/prove/decisions.ts';
import { deciding, policyOf } from './deciding.ts';

test('the verdicts on a condition are made once in each space, so that formulas share their parts', () => {
  const { condition } = compiledRules(policyOf({ scope: 'read', claims: { role: 'trader' } }));
  const [one, other] = [new Space([condition], [], deciding()), new Space([condition], [], deciding())];
  expect(verdictsOn(condition, one)).toBe(verdictsOn(condition, one));
  expect(verdictsOn(condition, other)).toBe(verdictsOn(condition, other));
  expect(verdictsOn(condition, other)).not.toBe(verdictsOn(condition, one));
});
