import { expect, test } from 'vitest';
import type { Call } from '../../../src/model/call.ts';
import type { Grant } from '../../../src/model/grant.ts';
import type { Route } from '../../../src/model/route.ts';
import { DecisionPoints } from '../../../src/serve/gateway/decision-points.ts';
import { startPdp } from '../../support/decision-point.ts';

test('a decision point whose code fails to load refuses the call, and is loaded again for the next', async () => {
  const pdp = await startPdp();
  const decisionPoint = {
    name: 'acme',
    url: pdp.server.url,
    token: undefined,
    timeoutMs: 5_000,
    sendsArguments: false,
  };
  const route = { name: 'api', path: '/api', upstream: { identity: new Map() }, decisionPoint } as unknown as Route;
  let isBroken = true;
  const { consult } = new DecisionPoints({
    publicUrl: 'http://gateway.test',
    clock: Date.now,
    onProblem() {},
    async load() {
      if (isBroken) throw new Error('EMFILE');
      return import('../../../src/pipeline/decision-point/decision-point.ts');
    },
  }).of(route);
  const call = { id: 'request', method: 'GET', path: '/api' } as Call;
  const grant = {
    principal: { subject: 'alice', callerKey: 'alice', issuer: 'http://as.test', grantedScopes: [], claims: {} },
    action: { attempt: { kind: 'http' } },
    decision: { allow: true, rule: '', plan: undefined },
  } as unknown as Grant;
  await expect(consult?.(call, grant)).rejects.toThrow('EMFILE');
  isBroken = false;
  await consult?.(call, grant);
  expect(pdp.questions()).toHaveLength(1);
  await pdp.server.close();
});
