import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';

import { signIn } from '../browser.ts';
import { demoApiClient, post } from '../obtain-token.ts';
import { createAgent } from './agent.ts';
import type { Deployment } from './deployment.ts';
import { expectRefusal, only } from './expect.ts';
import { callTool, redeem, type Session } from './lifecycle.ts';
import { redirectUrl, WalkingClient } from './oauth-client.ts';
import type { Report } from './report.ts';

const user = 'alice';
/** More than the clock tolerance of a gateway. */
const leniencyMs = 10_000;
const betweenCallsMs = 250;

/** The life cycle of a session from `Authorized` to `Expired` and back: without a refresh token, and with one. */
export async function walkExpiry(report: Report, deployment: Deployment, session: Session): Promise<void> {
  await expire(report, deployment, session);
  await authorizeAgain(report, session);
  await renewSilently(report, deployment, session);
}

async function expire(report: Report, { mcpUrl, unauthorized }: Deployment, { agent }: Session): Promise<void> {
  const lifetime = agent.oauth.tokens()?.expires_in ?? 0;
  report.wait(`the token with the high privilege expires in ${lifetime} s`);
  const started = Date.now();
  await setTimeout(lifetime * 1_000);
  await report.step('Authorized (high)', 'get_balance, after the token has expired', async () => {
    const deadline = Date.now() + leniencyMs;
    for (;;) {
      agent.recorder.take();
      if (!(await agent.call('get_balance', { account: 'savings' }))) break;
      assert.ok(Date.now() < deadline, `the token is accepted ${leniencyMs} ms after it expired`);
      await setTimeout(betweenCallsMs);
    }
    const seconds = ((Date.now() - started) / 1_000).toFixed(1);
    const finding = expectRefusal(only(agent.recorder.take(), 'POST', mcpUrl.pathname), unauthorized);
    return { ...finding, note: `(after ${seconds} s)` };
  });
}

async function authorizeAgain(report: Report, { agent, browser }: Session): Promise<void> {
  //
  await report.step('Expired', 'no refresh token: alice authorizes again', async () => {
    assert.equal(agent.oauth.tokens()?.refresh_token, undefined, 'refresh_token');
    const authorizationUrl = agent.oauth.takeAuthorizationUrl();
    const callback = await signIn({ authorizationUrl, user, browser });
    // The scope of the 401's challenge again: a high privilege is requested anew each time.
    return redeem(agent, callback, 'read');
  });
  await report.step('Authorized', 'get_balance', () => callTool(agent, 'get_balance', { account: 'savings' }));
}

/** Uses a trusted client of the authorization server, because external ones get no refresh tokens. */
async function renewSilently(report: Report, { mcpUrl, issuer }: Deployment, { browser }: Session): Promise<void> {
  const client = { client_id: demoApiClient.clientId, client_secret: demoApiClient.clientSecret ?? '' };
  const agent = createAgent(mcpUrl, new WalkingClient({ ...client, issuer, redirect_uris: [redirectUrl] }));

  await report.step('Registered', 'a pre-registered client, which may refresh', async () => {
    assert.equal(await agent.connect(), false, 'the client needs authorization by its user');
    const authorizationUrl = agent.oauth.takeAuthorizationUrl();
    await agent.redeem(await signIn({ authorizationUrl, user, browser }));
    assert.ok(agent.oauth.tokens()?.refresh_token, 'it gets a refresh token');
    return { note: `client ${client.client_id}, with a refresh token` };
  });

  //
  await report.step('Expired', 'the token is expired: the client renews it silently', async () => {
    // Waiting fifteen minutes for its expiry would show the same.
    const form = { ...client, token: agent.oauth.tokens()?.access_token ?? '' };
    assert.equal((await post(issuer, 'revocation_endpoint', form)).status, 200, 'the server revokes the token');
    agent.recorder.take();
    assert.equal(await agent.connect(), true, 'the client connects without its user');
    const seen = agent.recorder.take();
    const statuses = seen.map(({ method, url, status }) => `${method} ${url.pathname} ${status}`);
    assert.equal(seen[0]?.status, 401, 'status of the first call');
    assert.ok(
      seen.some(({ sent }) => sent?.includes('grant_type=refresh_token')),
      'the refresh token is used',
    );
    return { note: statuses.join(', ') };
  });

  await report.step('Authorized', 'get_balance', () => callTool(agent, 'get_balance', { account: 'savings' }));
  await agent.close();
}
