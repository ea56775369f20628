import assert from 'node:assert/strict';

import { z } from 'zod';

import { createBrowser, signIn, type Browser } from '../browser.ts';
import { createAgent, type Agent } from './agent.ts';
import { expectEventStream, expectRefusal, only } from './expect.ts';
import { WalkingClient } from './oauth-client.ts';
import type { Seen } from './recorder.ts';
import type { Deployment } from './deployment.ts';
import type { Report } from './report.ts';

/** The agent and its user at the end of the stage. */
export interface Session {
  readonly agent: Agent;
  readonly browser: Browser;
}

const user = 'alice';
const transfer = { from: 'savings', to: 'trading', amount: 10 };

/** The life cycle of a session from `No token` to `Authorized`, with the official client. */
export async function walkLifecycle(report: Report, deployment: Deployment): Promise<Session> {
  const session = { agent: createAgent(deployment.mcpUrl, new WalkingClient()), browser: createBrowser() };
  await discoverAndRegister(report, deployment, session.agent);
  await authorize(report, deployment, session);
  await useTools(report, session.agent);
  return session;
}

/** The steps from `No token` to a registered client. */
export async function discoverAndRegister(report: Report, deployment: Deployment, agent: Agent): Promise<void> {
  const { mcpUrl, metadataUrl, issuer } = deployment;
  let seen: readonly Seen[] = [];

  await report.step('No token', 'the client calls without a token', async () => {
    assert.equal(await agent.connect(), false, 'the client needs authorization by its user');
    seen = agent.recorder.take();
    return expectRefusal(only(seen, 'POST', mcpUrl.pathname), deployment.unauthorized);
  });

  //
  await report.step('Discovery', `GET ${metadataUrl.pathname}`, async () => {
    const { status, body } = only(seen, 'GET', metadataUrl.pathname);
    assert.equal(status, 200, 'status');
    const metadata = resourceMetadata.parse(JSON.parse(await body));
    assert.equal(metadata.resource, mcpUrl.href, 'resource');
    assert.deepEqual(metadata.authorization_servers, [issuer], 'authorization_servers');
    return {
      status,
      note: `${metadata.resource_name}: scope ${metadata.scopes_supported.join(' ')}, authorization server ${issuer}`,
    };
  });

  const path = '/.well-known/oauth-authorization-server';
  let registrationEndpoint = new URL(issuer);
  //
  await report.step('Discovery', `GET ${path}`, async () => {
    const { status, body } = only(seen, 'GET', path);
    assert.equal(status, 200, 'status');
    const metadata = serverMetadata.parse(JSON.parse(await body));
    assert.equal(metadata.issuer, issuer, 'issuer');
    registrationEndpoint = new URL(metadata.registration_endpoint);
    return { status, note: `${issuer}: registration, authorization and token endpoint` };
  });

  //
  await report.step('Registration', `POST ${registrationEndpoint.pathname}`, async () => {
    const { status, body } = only(seen, 'POST', registrationEndpoint.pathname);
    assert.equal(status, 201, 'status');
    const client = registration.parse(JSON.parse(await body));
    assert.deepEqual(client.grant_types, agent.oauth.clientMetadata.grant_types, 'grant_types, as the policy allows');
    return {
      status,
      note: `policy: PKCE ${client.require_proof_key}, consent ${client.requires_consent}, access_token_ttl ${client.access_token_ttl}, ${client.token_endpoint_auth_method}`,
    };
  });
}

/** The steps from a registered client to a token with the scope `read`. */
export async function authorize(report: Report, { mcpUrl }: Deployment, { agent, browser }: Session): Promise<void> {
  let callback = new URL('about:blank');

  //
  await report.step('Registered', `${user} signs in and consents`, async () => {
    const authorizationUrl = agent.oauth.takeAuthorizationUrl();
    const asked = authorizationUrl.searchParams;
    assert.equal(asked.get('code_challenge_method'), 'S256', 'code_challenge_method');
    assert.equal(asked.get('resource'), mcpUrl.href, 'resource');
    assert.equal(asked.get('scope'), 'read', 'scope as in the challenge');
    callback = await signIn({ authorizationUrl, user, browser });
    assert.ok(callback.searchParams.has('code'), `the callback has a code, not ${callback.search}`);
    return { note: `pages: ${browser.pages.join(', ')}` };
  });

  //
  await report.step('Code issued', 'the client redeems the code', () => redeem(agent, callback, 'read'));
}

async function useTools(report: Report, agent: Agent): Promise<void> {
  await report.step('Authorized', 'tools/list, on an event stream', async () => {
    assert.equal(await agent.connect(), true, 'the client connects');
    agent.recorder.take();
    const tools = await agent.listTools();
    const [seen] = agent.recorder.take();
    assert.ok(seen);
    await expectEventStream(seen);
    assert.ok(
      tools.some(({ name }) => name === 'transfer_funds'),
      'transfer_funds is listed: only a scope is missing',
    );
    return { status: seen.status, note: `${tools.length} tools; text/event-stream, chunked, event: message` };
  });

  await report.step('Authorized', 'get_balance', () => callTool(agent, 'get_balance', { account: 'savings' }));

  await report.step('Authorized', 'get_demo_data: token exchanged, API called', async () => {
    const { status, note } = await callTool(agent, 'get_demo_data');
    const seen = apiAnswer.parse(JSON.parse(note));
    assert.deepEqual(seen, { user, actor: 'gateway' }, 'the API knows the user, and the gateway as the actor');
    return { status, note: `the API saw a JWT with sub ${seen.user} and act ${seen.actor}: ${note}` };
  });

  await report.step('Authorized', 'get_balance in revision 2025-11-25', async () => {
    assert.equal(await agent.connect('legacy'), true, 'the client connects');
    assert.equal(agent.revision, '2025-11-25', 'revision');
    const finding = await callTool(agent, 'get_balance', { account: 'trading' });
    assert.equal(await agent.connect(), true, 'the client connects');
    assert.equal(agent.revision, '2026-07-28', 'revision');
    return finding;
  });

  await report.step('Authorized', 'close_account, which the policy does not list', async () => {
    agent.recorder.take();
    await assert.rejects(agent.call('close_account', { account: 'savings' }));
    const [seen] = agent.recorder.take();
    assert.ok(seen);
    const finding = expectRefusal(seen, { status: 403, challenge: null });
    return { ...finding, note: 'no challenge: no token would help' };
  });
}

/** The steps from a call that needs a higher scope to that call, repeated. */
export async function stepUp(report: Report, deployment: Deployment, { agent, browser }: Session): Promise<void> {
  let callback = new URL('about:blank');

  await report.step('Authorized', 'transfer_funds, which needs a higher scope', async () => {
    agent.recorder.take();
    assert.equal(await agent.call('transfer_funds', transfer), undefined, 'the client needs authorization by its user');
    const seen = only(agent.recorder.take(), 'POST', deployment.mcpUrl.pathname);
    return expectRefusal(seen, deployment.insufficientScope);
  });

  //
  await report.step('Scope challenge', `${user} consents; single sign-on`, async () => {
    const authorizationUrl = agent.oauth.takeAuthorizationUrl();
    assert.equal(authorizationUrl.searchParams.get('scope'), 'read payments', 'scope');
    const before = browser.pages.length;
    callback = await signIn({ authorizationUrl, user, browser });
    const pages = browser.pages.slice(before);
    assert.deepEqual(pages, ['Allow access'], 'the user is asked for consent, not for a password');
    return { note: `pages: ${pages.join(', ')}` };
  });

  await report.step('Scope challenge', 'the client redeems the code', () => redeem(agent, callback, 'read payments'));

  //
  await report.step('Authorized (high)', 'transfer_funds, repeated', () => callTool(agent, 'transfer_funds', transfer));
}

/** Redeems a code and asserts the token response, R-192 and R-193. */
export async function redeem(agent: Agent, callback: URL, scope: string) {
  agent.recorder.take();
  await agent.redeem(callback);
  const seen = agent.recorder.take().find(({ sent }) => sent?.includes('grant_type=authorization_code'));
  const tokens = tokenResponse.parse(JSON.parse((await seen?.body) ?? 'null'));
  assert.equal(tokens.scope, scope, 'scope');
  assert.ok(!tokens.access_token.includes('.'), 'the token is opaque');
  const { refreshes } = agent.oauth;
  assert.equal(tokens.refresh_token !== undefined, refreshes, 'whether there is a refresh_token');
  return {
    status: seen?.status ?? 0,
    note: `opaque token, expires_in ${tokens.expires_in}, scope ${tokens.scope}, ${refreshes ? 'a' : 'no'} refresh_token`,
  };
}

/** Calls a tool that must succeed; the result is the note. */
export async function callTool(agent: Agent, name: string, arguments_?: Record<string, unknown>) {
  agent.recorder.take();
  const result = await agent.call(name, arguments_);
  const seen = agent.recorder.take().at(-1);
  assert.equal(seen?.status, 200, 'status');
  const [content] = result?.content ?? [];
  const text = content?.type === 'text' ? content.text : '';
  assert.notEqual(result?.isError, true, text);
  return { status: seen.status, note: text };
}

const apiAnswer = z.object({ user: z.string(), actor: z.string() });

const resourceMetadata = z.object({
  resource: z.string(),
  resource_name: z.string(),
  scopes_supported: z.array(z.string()),
  authorization_servers: z.array(z.string()),
});

const serverMetadata = z.object({
  issuer: z.string(),
  registration_endpoint: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
});

const registration = z.object({
  client_id: z.string(),
  client_secret: z.string(),
  grant_types: z.array(z.string()),
  token_endpoint_auth_method: z.literal('client_secret_post'),
  access_token_ttl: z.number(),
  require_proof_key: z.literal(true),
  requires_consent: z.literal(true),
});

const tokenResponse = z.object({
  access_token: z.string(),
  expires_in: z.number(),
  scope: z.string(),
  token_type: z.string().regex(/^bearer$/i),
  refresh_token: z.string().optional(),
});
