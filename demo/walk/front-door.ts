import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';

import { z } from 'zod';

import { createBrowser, signIn } from '../browser.ts';
import { post } from '../obtain-token.ts';
import { createAgent, type Agent } from './agent.ts';
import type { Deployment } from './deployment.ts';
import { expectRefusal } from './expect.ts';
import { authorize, callTool, discoverAndRegister, redeem, type Session, stepUp } from './lifecycle.ts';
import { WalkingClient } from './oauth-client.ts';
import type { Finding, Report } from './report.ts';

const user = 'alice';
/** Longer than a gateway apart from the front door, without a store that both share, reuses an answer. */
const patienceMs = 40_000;
const betweenCallsMs = 250;

/** The life cycle of a client whose user signs in at a provider that knows nothing of MCP. */
export async function walkFrontDoor(report: Report, deployment: Deployment, companyUrl: string): Promise<void> {
  const oauth = new WalkingClient(undefined, ['authorization_code', 'refresh_token']);
  const session = { agent: createAgent(deployment.mcpUrl, oauth), browser: createBrowser() };
  await lookAtCompany(report, companyUrl);
  await discoverAndRegister(report, deployment, session.agent);
  await authorize(report, deployment, session);
  await useTool(report, session);
  await stepUp(report, deployment, session);
  const used = await refresh(report, deployment, session.agent);
  await useTwice(report, deployment, session.agent, used);
  await authorizeAgain(report, session);
  await endStream(report, deployment, session.agent);
  await session.agent.close();
}

async function lookAtCompany(report: Report, companyUrl: string): Promise<void> {
  await report.step('Company', "the provider's own metadata", async () => {
    const response = await fetch(`${companyUrl}/.well-known/openid-configuration`);
    const found = companyMetadata.parse(await response.json());
    assert.equal(found.registration_endpoint, undefined, 'registration_endpoint');
    return { status: response.status, note: `${found.issuer}: an OpenID provider without registration` };
  });
}

async function useTool(report: Report, { agent, browser }: Session): Promise<void> {
  await report.step('Authorized', 'get_balance', async () => {
    assert.deepEqual(browser.pages, ['Allow access', 'Sign in'], 'consent comes before the sign-in at the company');
    assert.equal(await agent.connect(), true, 'the client connects');
    return callTool(agent, 'get_balance', { account: 'savings' });
  });
}

/** Returns the refresh token that the client has used. */
async function refresh(report: Report, deployment: Deployment, agent: Agent): Promise<string> {
  const before = agent.oauth.tokens();
  await report.step('Expired', 'the token is expired: the client renews it silently', async () => {
    // Waiting for its expiry would show the same.
    await revoke(deployment.issuer, agent);
    await expectRefused(deployment, agent);
    agent.recorder.take();
    assert.equal(await agent.connect(), true, 'the client connects without its user');
    const after = agent.oauth.tokens();
    assert.notEqual(after?.refresh_token, before?.refresh_token, 'the refresh token rotates');
    assert.equal(after?.scope, 'read payments', 'the scope of the step-up stays while the sign-in is fresh');
    const statuses = agent.recorder.take().map(({ method, url, status }) => `${method} ${url.pathname} ${status}`);
    return { note: `${statuses.join(', ')}; a new refresh token, scope ${after?.scope}` };
  });
  return before?.refresh_token ?? '';
}

async function useTwice(report: Report, deployment: Deployment, agent: Agent, used: string): Promise<void> {
  await report.step('Authorized', 'a thief uses the old refresh token', async () => {
    const form = { ...credentialsOf(agent), grant_type: 'refresh_token', refresh_token: used };
    const response = await post(deployment.issuer, 'token_endpoint', form);
    const { error } = tokenError.parse(await response.json());
    assert.deepEqual([response.status, error], [400, 'invalid_grant'], 'answer');
    return { status: response.status, note: `${error}: every token of the family ends` };
  });

  await report.step('Authorized', 'a call with a token of that family', () => expectRefused(deployment, agent));
}

async function authorizeAgain(report: Report, { agent, browser }: Session): Promise<void> {
  await report.step('Expired', `${user} authorizes again; single sign-on`, async () => {
    agent.oauth.invalidateCredentials('tokens');
    assert.equal(await agent.connect(), false, 'the client needs authorization by its user');
    const before = browser.pages.length;
    const callback = await signIn({ authorizationUrl: agent.oauth.takeAuthorizationUrl(), user, browser });
    assert.deepEqual(browser.pages.slice(before), ['Allow access'], 'the company asks for no password');
    return redeem(agent, callback, 'read');
  });
}

async function endStream(report: Report, deployment: Deployment, agent: Agent): Promise<void> {
  await report.step('Authorized', 'the client revokes its token while a stream is open', async () => {
    assert.equal(await agent.connect(), true, 'the client connects');
    const stream = await agent.listen();
    const started = Date.now();
    await revoke(deployment.issuer, agent);
    const late = new AbortController();
    const isEnded = await Promise.race([
      stream.closed.then(() => true),
      setTimeout(patienceMs, false, { signal: late.signal }),
    ]);
    late.abort();
    assert.ok(isEnded, `the stream ends within ${patienceMs} ms`);
    return { note: `the stream has ended ${Date.now() - started} ms later` };
  });

  await report.step('Authorized', 'a call with the revoked token', () => expectRefused(deployment, agent));
}

/** Calls until the gateway refuses the token of the agent. */
async function expectRefused({ mcpUrl, unauthorized }: Deployment, { oauth }: Agent): Promise<Finding> {
  const headers = { authorization: `Bearer ${oauth.tokens()?.access_token}` };
  const deadline = Date.now() + patienceMs;
  for (;;) {
    // An idle connection may end just as it is used again.
    const response = await fetch(mcpUrl, { method: 'POST', headers }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === unauthorized.status) return expectRefusal(response, unauthorized);
    assert.ok(Date.now() < deadline, `the token is accepted ${patienceMs} ms after its end`);
    await setTimeout(betweenCallsMs);
  }
}

async function revoke(issuer: string, agent: Agent): Promise<void> {
  const form = { ...credentialsOf(agent), token: agent.oauth.tokens()?.access_token ?? '' };
  assert.equal((await post(issuer, 'revocation_endpoint', form)).status, 200, 'the front door revokes the token');
}

function credentialsOf({ oauth }: Agent): { readonly client_id: string; readonly client_secret: string } {
  const { client_id: id = '', client_secret: secret = '' } = oauth.clientInformation() ?? {};
  return { client_id: id, client_secret: secret };
}

const companyMetadata = z.object({ issuer: z.string(), registration_endpoint: z.string().optional() });
const tokenError = z.object({ error: z.string() });
