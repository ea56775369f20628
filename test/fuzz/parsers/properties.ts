import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { prove } from '../../../src/policy/prove/prove.ts';
import { compiled, policyOf } from '../../policy/prove/deciding.ts';
import { randomProperty } from '../../policy/prove/random-properties.ts';
import { refutation, setting } from '../../policy/prove/refutation.ts';
import { must } from './must.ts';
import type { Reader } from '../reader.ts';

/** A seed of a random policy with a property: no random example refutes what is proved. */
function check(input: Buffer): void {
  const seed = createHash('sha256').update(input).digest().readInt32LE();
  const [random] = fc.sample(randomProperty, { seed, numRuns: 1 });
  if (random === undefined) return;
  // It decides each counterexample by the code that serves, and throws if that disagrees.
  const { outcome } = prove(compiled(random.property), policyOf(random.policy), setting);
  if (outcome === 'holds') {
    const found = refutation(random, Math.abs(seed) % 4000);
    must(found === undefined, `proved, but refuted by ${JSON.stringify(found)}: ${JSON.stringify(random)}`);
  }
}

export const properties: Reader = {
  check,
  words: [],
};
