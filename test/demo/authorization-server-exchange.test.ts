import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AuthorizationServer } from '../../demo/authorization-server.ts';
import { demoApiClient, obtainToken, registerClient, type OAuthClient } from '../../demo/obtain-token.ts';
import {
  apiAudience,
  asGateway,
  introspect,
  mcpResource,
  post,
  start,
  type Answer,
} from './authorization-server-requests.ts';

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

let server: AuthorizationServer;
let issuer: string;
let agent: OAuthClient;
let subjectToken: string;

beforeAll(async () => {
  const other = { client_id: 'other', client_secret: 'other-secret', redirect_uris: [], response_types: [] };
  server = await start({ extraClients: [{ ...other, grant_types: ['client_credentials'] }] });
  ({ issuer } = server);
  agent = await registerClient(issuer);
  subjectToken = await mcpToken('read write');
});

afterAll(() => server.close());

async function mcpToken(scope: string): Promise<string> {
  const { accessToken } = await obtainToken({ issuer, client: agent, user: 'alice', scope });
  return accessToken;
}

const asOther = `Basic ${btoa('other:other-secret')}`;

/** A token of a client for itself. */
async function ownToken(authorization = asGateway): Promise<{ token: string; body: Answer['body'] }> {
  const { body } = await post(issuer, 'oauth-token', { grant_type: 'client_credentials' }, authorization);
  return { token: String(body.access_token), body };
}

function exchange(changes: Record<string, string | undefined> = {}, authorization = asGateway): Promise<Answer> {
  const parameters = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: subjectToken,
    subject_token_type: accessTokenType,
    audience: apiAudience,
    ...changes,
  };
  const given = Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  return post(issuer, 'oauth-token', given, authorization);
}

describe('token exchange, RFC 8693', () => {
  test('R-197: issues a JWT for the API with the same user and claims, and names the gateway as the actor', async () => {
    const { body, status } = await exchange({ scope: 'read' });
    expect({ status, ...body }).toEqual({
      status: 200,
      access_token: expect.any(String),
      issued_token_type: accessTokenType,
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'read',
    });
    const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/v2/jwks`));
    const { payload } = await jwtVerify(String(body.access_token), keys, {
      issuer,
      audience: apiAudience,
      typ: 'at+jwt',
      algorithms: ['RS256'],
    });
    expect(payload).toMatchObject({
      aud: apiAudience,
      sub: 'alice',
      client_id: 'gateway',
      act: { sub: 'gateway' },
      scope: 'read',
      risk: 20,
      role: 'trader',
      tenant: 'acme',
      country: 'SE',
      ai_agent: true,
    });
  });

  test('grants all scopes that the subject token and the API share, if the request has no scope', async () => {
    expect((await exchange()).body.scope).toBe('read write');
  });

  test('accepts `resource` instead of `audience`, and both if they agree', async () => {
    const byResource = await exchange({ audience: undefined, resource: `${apiAudience}/` });
    expect(decodeJwt(String(byResource.body.access_token)).aud).toBe(apiAudience);
    expect((await exchange({ resource: apiAudience })).status).toBe(200);
  });

  test('accepts `jwt` as the requested type', async () => {
    const type = 'urn:ietf:params:oauth:token-type:jwt';
    expect((await exchange({ requested_token_type: type })).body.issued_token_type).toBe(type);
  });

  test('issues a token that never outlives the subject token', async () => {
    const token = await mcpToken('read payments');
    const subject = await introspect(issuer, token);
    const { body } = await exchange({ subject_token: token, scope: 'read' });
    expect(decodeJwt(String(body.access_token)).exp).toBe(subject.exp);
    expect(body.expires_in).toBeLessThanOrEqual(60);
  });

  test('accepts the gateway’s own token as the actor token, and names the gateway in `act`', async () => {
    const { token, body } = await ownToken();
    expect(body).toEqual({ access_token: token, token_type: 'Bearer', expires_in: 600 });
    const changes = { actor_token: token, actor_token_type: accessTokenType };
    const answer = await exchange(changes);
    expect(answer.status).toBe(200);
    expect(decodeJwt(String(answer.body.access_token))).toMatchObject({ sub: 'alice', act: { sub: 'gateway' } });
  });

  test('issues a token to the gateway that grants nothing', async () => {
    const { token } = await ownToken();
    const claims = await introspect(issuer, token);
    expect(claims).toMatchObject({ active: true, client_id: 'gateway' });
    expect([claims.aud, claims.scope]).toEqual([undefined, undefined]);
    for (const resource of [mcpResource, apiAudience]) {
      const form = { grant_type: 'client_credentials', resource, scope: 'read' };
      expect(await post(issuer, 'oauth-token', form, asGateway)).toMatchObject({ body: { error: 'invalid_target' } });
    }
  });

  test('issues a token for one minute with a high privilege', async () => {
    const { body } = await exchange({ subject_token: await mcpToken('read payments'), scope: 'payments' });
    expect(body.expires_in).toBeLessThanOrEqual(60);
  });
});

describe('token exchange refuses', () => {
  test.each([
    ['no subject token', { subject_token: undefined }, 'invalid_request'],
    ['an unknown subject token', { subject_token: 'x'.repeat(43) }, 'invalid_request'],
    ['no type of it', { subject_token_type: undefined }, 'invalid_request'],
    ['another type of it', { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, 'invalid_request'],
    ['an unknown actor token', { actor_token: 'x', actor_token_type: accessTokenType }, 'invalid_request'],
    ['the type of an actor token alone', { actor_token_type: accessTokenType }, 'invalid_request'],
    [
      'a refresh token as the result',
      { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      'invalid_request',
    ],
    ['no target', { audience: undefined }, 'invalid_request'],
    ['an unknown target', { audience: 'https://unknown.example' }, 'invalid_target'],
    ['an MCP server as the target', { audience: mcpResource }, 'invalid_target'],
    ['two targets', { resource: mcpResource }, 'invalid_target'],
    ['a scope that the subject token lacks', { scope: 'read payments' }, 'invalid_scope'],
    ['a scope that the API lacks', { scope: 'openid' }, 'invalid_scope'],
  ])('%s', async (_case, changes, error) => {
    expect(await exchange(changes)).toMatchObject({ status: 400, body: { error } });
  });

  test.each([
    ['without its type', undefined],
    ['of another type', 'urn:ietf:params:oauth:token-type:id_token'],
  ])('an actor token %s', async (_case, type) => {
    const changes = { actor_token: (await ownToken()).token, actor_token_type: type };
    expect(await exchange(changes)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  test('an actor token that was revoked', async () => {
    const { token } = await ownToken();
    await post(issuer, 'oauth-revoke', { token }, asGateway);
    const changes = { actor_token: token, actor_token_type: accessTokenType };
    expect(await exchange(changes)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  test('an actor token of another client, and a user’s token as the actor token', async () => {
    for (const token of [(await ownToken(asOther)).token, subjectToken]) {
      const changes = { actor_token: token, actor_token_type: accessTokenType };
      expect(await exchange(changes)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    }
  });

  test('a subject token that was revoked', async () => {
    const token = await mcpToken('read');
    const credential = { client_id: agent.clientId, client_secret: agent.clientSecret ?? '' };
    await post(issuer, 'oauth-revoke', { token, ...credential });
    expect(await exchange({ subject_token: token })).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  test('a JWT of the API as the subject token', async () => {
    const { accessToken } = await obtainToken({ issuer, client: demoApiClient, user: 'alice', resource: apiAudience });
    expect(await exchange({ subject_token: accessToken })).toMatchObject({ status: 400 });
  });

  test('a wrong secret', async () => {
    const answer = await exchange({}, `Basic ${btoa('gateway:guess')}`);
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
  });

  test('the agent itself, which may not have a JWT', async () => {
    const credential = { client_id: agent.clientId, client_secret: agent.clientSecret };
    const parameters = { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: subjectToken };
    const answer = await post(issuer, 'oauth-token', {
      ...parameters,
      subject_token_type: accessTokenType,
      audience: apiAudience,
      client_id: credential.client_id,
      client_secret: credential.client_secret ?? '',
    });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });
});
