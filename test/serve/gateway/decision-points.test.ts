import { expect, test } from 'vitest';
import { DecisionPoints } from '../../../src/serve/gateway/decision-points.ts';
import { askedCall, askedRoute, grantOf, startPdp } from '../../support/decision-point.ts';
import { forThisTest } from '../../support/start-before.ts';

test('a decision point whose code fails to load refuses the call, and is loaded again for the next', async () => {
  const pdp = await forThisTest(startPdp());
  const { url } = pdp.server;
  const decisionPoint = { name: 'acme', url, token: undefined, timeoutMs: 5_000, sendsArguments: false };
  let isBroken = true;
  const { consult } = new DecisionPoints({
    publicUrl: 'http://gateway.test',
    clock: Date.now,
    onProblem() {},
    async load() {
      if (isBroken) throw new Error('EMFILE');
      return import('../../../src/pipeline/decision-point/decision-point.ts');
    },
  }).of({ ...askedRoute, decisionPoint });
  await expect(consult?.(askedCall, grantOf('alice'))).rejects.toThrow('EMFILE');
  isBroken = false;
  await consult?.(askedCall, grantOf('alice'));
  expect(pdp.questions()).toHaveLength(1);
});
