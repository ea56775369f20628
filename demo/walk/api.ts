import assert from 'node:assert/strict';

import { signIn } from '../browser.ts';
import { demoApiClient, obtainToken } from '../obtain-token.ts';
import { createAgent } from './agent.ts';
import type { Deployment } from './deployment.ts';
import { expectRefusal } from './expect.ts';
import { redeem } from './lifecycle.ts';
import { WalkingClient } from './oauth-client.ts';
import type { Finding, Report } from './report.ts';

const bearer = { status: 401, challenge: 'Bearer' };
const invalidToken = { status: 401, challenge: 'Bearer error="invalid_token"' };
const needsRead = { status: 403, challenge: 'Bearer error="insufficient_scope", scope="read"' };
const forbidden = { status: 403, challenge: null };

/** The tokens that the stage needs. */
interface ApiTokens {
  readonly alice: string;
  /** Without the scope `read`. */
  readonly aliceWithoutRead: string;
  /** The user's risk is not under 50. */
  readonly bob: string;
  /** Opaque, for the MCP server. */
  readonly mcp: string;
}

/** The demo API: JWT, scope and risk, and the separation of its tokens from an agent's. */
export async function walkApi(report: Report, deployment: Deployment): Promise<void> {
  const tokens = await getTokens(report, deployment);
  await validateJwt(report, deployment, tokens);
  await checkScope(report, deployment, tokens);
  await checkRisk(report, deployment, tokens);
  await everythingElse(report, deployment, tokens);
}

async function getTokens(report: Report, deployment: Deployment): Promise<ApiTokens> {
  const tokens = { alice: '', aliceWithoutRead: '', bob: '', mcp: '' };

  await report.step('API tokens', 'alice and bob sign in at a client of the API', async () => {
    tokens.alice = await apiToken(deployment, 'alice', 'read');
    tokens.aliceWithoutRead = await apiToken(deployment, 'alice', 'write');
    tokens.bob = await apiToken(deployment, 'bob', 'read');
    return { note: `JWTs for ${deployment.apiAudience}` };
  });

  await report.step('API tokens', 'bob lets an AI agent use the MCP server', async () => {
    const agent = createAgent(deployment.mcpUrl, new WalkingClient());
    assert.equal(await agent.connect(), false, 'the client needs authorization by its user');
    const callback = await signIn({ authorizationUrl: agent.oauth.takeAuthorizationUrl(), user: 'bob' });
    const finding = await redeem(agent, callback, 'read');
    tokens.mcp = agent.oauth.tokens()?.access_token ?? '';
    assert.equal(await agent.connect(), true, 'the client connects');
    const result = await agent.call('get_high_worth_data');
    assert.equal(result?.isError, true, 'the API also refuses bob through the tool');
    await agent.close();
    return finding;
  });
  return tokens;
}

async function apiToken({ issuer, apiAudience }: Deployment, user: string, scope: string): Promise<string> {
  const { accessToken } = await obtainToken({ issuer, client: demoApiClient, user, scope, resource: apiAudience });
  return accessToken;
}

async function validateJwt(report: Report, deployment: Deployment, tokens: ApiTokens): Promise<void> {
  const path = '/demo/data';
  const state = 'JWT validation';
  const [header, , signature] = tokens.alice.split('.');
  const forged = `${header}.${Buffer.from('{"sub":"alice","scope":"read"}').toString('base64url')}.${signature}`;
  const refused = (title: string, token: string | undefined, refusal = invalidToken): Promise<void> =>
    report.step(state, title, async () => {
      const response = await get(deployment, path, token);
      const finding = expectRefusal(response, refusal);
      assert.equal(await response.text(), '', 'body');
      assert.equal(response.headers.get('content-length'), '0', 'Content-Length');
      return finding;
    });
  await refused(`GET ${path} without a token`, undefined, bearer);
  await refused(`GET ${path} with garbage`, 'garbage');
  await refused(`GET ${path} with changed claims`, forged);
  await refused(`GET ${path} with an AI agent's token`, tokens.mcp);
  await report.step(state, 'POST /mcp with a token for the API', async () => {
    const response = await fetch(deployment.mcpUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokens.alice}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    return expectRefusal(response, deployment.unauthorized);
  });
}

async function checkScope(report: Report, deployment: Deployment, tokens: ApiTokens): Promise<void> {
  await report.step('Scope check', 'GET /demo/data, alice without the scope read', async () =>
    expectRefusal(await get(deployment, '/demo/data', tokens.aliceWithoutRead), needsRead),
  );
  await report.step('Scope check', 'GET /demo/data, alice with the scope read', () =>
    answers(deployment, '/demo/data', tokens.alice, ({ data, user }) => {
      assert.equal(typeof data, 'string', 'data');
      assert.equal(user, 'alice', 'user');
    }),
  );
}

async function checkRisk(report: Report, deployment: Deployment, tokens: ApiTokens): Promise<void> {
  const path = '/demo/highworthdata';
  await report.step('Risk check', `GET ${path}, bob, risk 50 or more`, async () =>
    expectRefusal(await get(deployment, path, tokens.bob), forbidden),
  );
  await report.step('Risk check', `GET ${path}, alice, risk under 50`, () =>
    answers(deployment, path, tokens.alice, ({ data, user, risk }) => {
      assert.equal(typeof data, 'string', 'data');
      assert.equal(user, 'alice', 'user');
      assert.ok(typeof risk === 'number' && risk < 50, `risk is a number under 50, not ${String(risk)}`);
    }),
  );
}

async function everythingElse(report: Report, deployment: Deployment, tokens: ApiTokens): Promise<void> {
  await report.step('Fallback policy', 'GET /anything/else without a token', async () =>
    expectRefusal(await get(deployment, '/anything/else'), bearer),
  );
  await report.step('Fallback policy', 'GET /anything/else with any token for the API', () =>
    answers(deployment, '/anything/else', tokens.aliceWithoutRead, ({ user, credential }) => {
      assert.equal(user, 'alice', 'user');
      assert.equal(credential, false, 'the token does not reach the backend');
    }),
  );
  await report.step('Public', 'GET /public/status without a token', () => answers(deployment, '/public/status'));
}

function get({ gatewayUrl }: Deployment, path: string, token?: string): Promise<Response> {
  return fetch(gatewayUrl + path, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
}

async function answers(
  deployment: Deployment,
  path: string,
  token?: string,
  check: (body: Record<string, unknown>) => void = () => {},
): Promise<Finding> {
  const response = await get(deployment, path, token);
  assert.equal(response.status, 200, 'status');
  const text = await response.text();
  check(JSON.parse(text));
  return { status: 200, note: text.length < 100 ? text : '' };
}
