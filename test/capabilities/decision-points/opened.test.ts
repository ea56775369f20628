import { expect, test } from 'vitest';
import { quietRoute } from '../../support/process-parts.ts';
import { openDecisionPoints } from '../../../src/capabilities/decision-points/opened.ts';
import { decisionPoint } from '../../../src/capabilities/decision-points/settings.ts';
import { askedCall, askedRoute, grantOf, startPdp } from '../../support/decision-point.ts';
import { forThisTest } from '../../support/start-before.ts';

test('a decision point whose code fails to load refuses the call, and is loaded again for the next', async () => {
  const pdp = await forThisTest(startPdp());
  const { url } = pdp.server;
  const settings = { name: 'acme', url, token: undefined, timeoutMs: 5_000, sendsArguments: false };
  let isBroken = true;
  const { gate } = openDecisionPoints({ publicUrl: 'http://gateway.test' }, { clock: Date.now, log() {} }, async () => {
    if (isBroken) throw new Error('EMFILE');
    return import('../../../src/capabilities/decision-points/decision-point.ts');
  }).of({ ...askedRoute, slots: new Map([decisionPoint.with(settings)]) }, quietRoute);
  await expect(gate?.enter(askedCall, grantOf('alice'))).rejects.toThrow('EMFILE');
  isBroken = false;
  await gate?.enter(askedCall, grantOf('alice'));
  expect(pdp.questions()).toHaveLength(1);
});
