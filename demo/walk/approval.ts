import assert from 'node:assert/strict';

import { z } from 'zod';

import { demoApiClient, obtainToken } from '../obtain-token.ts';
import { expectRefusal } from './expect.ts';
import type { Deployment } from './deployment.ts';
import { callTool, type Session } from './lifecycle.ts';
import type { Finding, Report } from './report.ts';

const supervisor = 'erin';
const large = { from: 'savings', to: 'trading', amount: 5000 };

/** The supervisor signs in at a client of her own: its tokens are for approvals alone. */
export async function signInSupervisor(report: Report, { issuer, gatewayUrl }: Deployment): Promise<string> {
  let token = '';
  await report.step('Approvals', `${supervisor}, a supervisor, signs in`, async () => {
    const resource = `${gatewayUrl}/approvals`;
    const tokens = await obtainToken({ issuer, client: demoApiClient, user: supervisor, scope: 'read', resource });
    token = tokens.accessToken;
    return { note: `a JWT for ${resource}` };
  });
  return token;
}

/** One call that a person has to approve: refused, approved, executed, and refused again. */
export async function walkApproval(report: Report, { agent }: Session, token: string): Promise<void> {
  let asked: z.infer<typeof refusal> | undefined;

  const refused = async (): Promise<Finding> => {
    agent.recorder.take();
    await assert.rejects(agent.call('transfer_funds', large));
    const seen = agent.recorder.take().at(-1);
    assert.ok(seen);
    asked = refusal.parse(JSON.parse(await seen.body));
    return { ...expectRefusal(seen, { status: 403, challenge: null }), note: asked.error.data.approval.url };
  };

  await report.step('Authorized (high)', 'transfer_funds of 5000, which needs an approval', refused);

  await report.step('Waiting', `${supervisor} reads the call and approves it`, async () => {
    const url = asked?.error.data.approval.url ?? '';
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const { digest, call } = approval.parse(await (await fetch(url, { headers })).json());
    assert.deepEqual(call.arguments, large, 'the call that she reads');
    const body = JSON.stringify({ decision: 'approve', digest });
    const response = await fetch(url, { method: 'POST', headers, body });
    assert.equal(approval.parse(await response.json()).status, 'approved', 'status of the approval');
    return { status: response.status, note: `${call.name} ${JSON.stringify(call.arguments)}` };
  });

  await report.step('Approved', 'transfer_funds of 5000, repeated', () => callTool(agent, 'transfer_funds', large));

  await report.step('Used', 'the same transfer once more', async () => {
    return { ...(await refused()), note: 'an approval is for one call' };
  });
}

const refusal = z.object({
  error: z.object({
    data: z.object({ reason: z.literal('approval.required'), approval: z.object({ url: z.url() }) }),
  }),
});
const approval = z.object({
  status: z.string(),
  digest: z.string(),
  call: z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }),
});
