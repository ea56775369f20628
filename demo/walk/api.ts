import assert from 'node:assert/strict';

import { z } from 'zod';

import { signIn } from '../browser.ts';
import { demoApiClient, obtainToken } from '../obtain-token.ts';
import { createAgent } from './agent.ts';
import type { Deployment } from './deployment.ts';
import { expectRefusal, type Refused } from './expect.ts';
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
  /** The header and the signature of Alice's token around other claims. */
  readonly forged: string;
  readonly garbage: string;
}

/** A GET, and the refusal or the JSON that must answer it. */
interface Get {
  readonly state: string;
  readonly path: string;
  /** The end of the title. */
  readonly caller: string;
  /** None: without a token. */
  readonly token?: keyof ApiTokens;
  readonly answer: Refused | z.ZodType;
}

const user = z.literal('alice');
const data = { state: 'JWT validation', path: '/demo/data' };
const scope = { state: 'Scope check', path: '/demo/data' };
const risk = { state: 'Risk check', path: '/demo/highworthdata' };
const fallback = { state: 'Fallback policy', path: '/anything/else' };

const gets: readonly Get[] = [
  { ...data, caller: ' without a token', answer: bearer },
  { ...data, caller: ' with garbage', token: 'garbage', answer: invalidToken },
  { ...data, caller: ' with changed claims', token: 'forged', answer: invalidToken },
  { ...data, caller: " with an AI agent's token", token: 'mcp', answer: invalidToken },
  { ...scope, caller: ', alice without the scope read', token: 'aliceWithoutRead', answer: needsRead },
  { ...scope, caller: ', alice with the scope read', token: 'alice', answer: z.object({ data: z.string(), user }) },
  { ...risk, caller: ', bob, risk 50 or more', token: 'bob', answer: forbidden },
  {
    ...risk,
    caller: ', alice, risk under 50',
    token: 'alice',
    answer: z.object({ data: z.string(), user, risk: z.number().lt(50) }),
  },
  { ...fallback, caller: ' without a token', answer: bearer },
  {
    ...fallback,
    caller: ' with any token for the API',
    token: 'aliceWithoutRead',
    // The token does not reach the backend.
    answer: z.object({ user, credential: z.literal(false) }),
  },
  { state: 'Public', path: '/public/status', caller: ' without a token', answer: z.object({}) },
];

/** The demo API: JWT, scope and risk, and the separation of its tokens from an agent's. */
export async function walkApi(report: Report, deployment: Deployment): Promise<void> {
  const tokens = await getTokens(report, deployment);
  await report.step('JWT validation', 'POST /mcp with a token for the API', async () => {
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
  for (const { state, path, caller, token, answer } of gets) {
    await report.step(state, `GET ${path}${caller}`, () =>
      expectAnswer(deployment.gatewayUrl + path, token && tokens[token], answer),
    );
  }
}

async function getTokens(report: Report, deployment: Deployment): Promise<ApiTokens> {
  const tokens = { alice: '', aliceWithoutRead: '', bob: '', mcp: '', forged: '', garbage: 'garbage' };

  await report.step('API tokens', 'alice and bob sign in at a client of the API', async () => {
    tokens.alice = await apiToken(deployment, 'alice', 'read');
    tokens.aliceWithoutRead = await apiToken(deployment, 'alice', 'write');
    tokens.bob = await apiToken(deployment, 'bob', 'read');
    const [header, , signature] = tokens.alice.split('.');
    tokens.forged = `${header}.${Buffer.from('{"sub":"alice","scope":"read"}').toString('base64url')}.${signature}`;
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

async function apiToken({ issuer, apiAudience }: Deployment, person: string, asked: string): Promise<string> {
  const wish = { issuer, client: demoApiClient, user: person, scope: asked, resource: apiAudience };
  return (await obtainToken(wish)).accessToken;
}

async function expectAnswer(url: string, token: string | undefined, answer: Get['answer']): Promise<Finding> {
  const response = await fetch(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  const text = await response.text();
  if ('challenge' in answer) {
    const finding = expectRefusal(response, answer);
    if (answer.status === 401) {
      assert.equal(text, '', 'body');
      assert.equal(response.headers.get('content-length'), '0', 'Content-Length');
    }
    return finding;
  }
  assert.equal(response.status, 200, 'status');
  answer.parse(JSON.parse(text));
  return { status: 200, note: text.length < 100 ? text : '' };
}
