import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { prove } from '../../src/policy/prove/prove.ts';
import { compiled, policyOf } from '../../test/policy/prove/deciding.ts';
import { randomProperty } from '../../test/policy/prove/random-properties.ts';
import { refutation, setting } from '../../test/policy/prove/refutation.ts';
import { parserTarget, type Target } from '../target.ts';
import { must } from './must.ts';

/** A seed of a random policy with a property: no random example refutes what is proved. */
function check(input: Buffer): string {
  const seed = createHash('sha256').update(input).digest().readInt32LE();
  const [random] = fc.sample(randomProperty, { seed, numRuns: 1 });
  if (random === undefined) return 'none';
  // It decides each counterexample by the code that serves, and throws if that disagrees.
  const { outcome } = prove(compiled(random.property), policyOf(random.policy), setting);
  if (outcome === 'holds') {
    const found = refutation(random, Math.abs(seed) % 4000);
    must(found === undefined, `proved, but refuted by ${JSON.stringify(found)}: ${JSON.stringify(random)}`);
  }
  return outcome;
}

export const properties: Target = parserTarget(check, []);
