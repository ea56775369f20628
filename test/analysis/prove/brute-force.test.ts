import fc from 'fast-check';
import { expect, test } from 'vitest';
import { prove } from '../../../src/analysis/prove/prove.ts';
import { runs } from '../../support/runs.ts';
import { compiled, policyOf } from './deciding.ts';
import { randomProperty } from './random-properties.ts';
import { refutation, setting } from './refutation.ts';

test('no random example refutes a property that is proved, and the gateway confirms each counterexample', () => {
  const outcomes = { holds: 0, fails: 0, undecided: 0 };
  fc.assert(
    fc.property(randomProperty, fc.nat(3999), (random, from) => {
      const proof = prove(compiled(random.property), policyOf(random.policy), setting);
      outcomes[proof.outcome] += 1;
      expect(proof.outcome === 'holds' ? refutation(random, from) : undefined).toBeUndefined();
    }),
    { numRuns: runs },
  );
  expect(outcomes.holds).toBeGreaterThan(runs / 20);
  expect(outcomes.fails).toBeGreaterThan(runs / 20);
});
