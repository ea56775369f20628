/** What uses up a code or a refresh token, what ends its grant (RFC 9700 §4.14.2), and what does neither. */
import { beforeAll, describe, expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, registerClient } from '../worlds/oauth-client.ts';

let client: OAuthClient;
let other: OAuthClient;
const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor: 'clients: { refresh: true, registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }',
    policy: '{}',
    routeLines:
      '  - { name: second, path: /second, authorization_servers: [front_door], audience: "https://second.example", upstream: { url: "http://127.0.0.1:1" } }',
  }),
);
beforeAll(async () => {
  const metadata = { grant_types: ['authorization_code', 'refresh_token'] };
  [client, other] = await Promise.all([registerClient(world.issuer, metadata), registerClient(world.issuer, metadata)]);
});

const resources: readonly (readonly [string, string, string])[] = [
  ['an unknown resource', 'https://elsewhere.example/mcp', 'invalid_target'],
  ['the resource of another route', 'https://second.example', 'invalid_target'],
  ['a malformed resource', 'mcp', 'invalid_target'],
];

describe('a token request with a wrong resource does not use up', () => {
  test.each(resources)('the code: %s', async (_, resource, error) => {
    const form = await client.code();
    expect(await client.post({ ...form, resource })).toMatchObject({ status: 400, body: { error } });
    expect(await client.post({ ...form, resource: String(world.mcpUrl) })).toMatchObject({ status: 200 });
  });

  test.each(resources)('the refresh token: %s', async (_, resource, error) => {
    const { body } = await client.token();
    const token = body['refresh_token'];
    expect(await client.refresh(token, { resource })).toMatchObject({ status: 400, body: { error } });
    expect(await client.refresh(token, { resource: String(world.mcpUrl) })).toMatchObject({ status: 200 });
  });
});

describe('RFC 7009 §2.1: the revocation request of another client', () => {
  test.each([
    ['without a hint', {}],
    ['with the right hint', { token_type_hint: 'refresh_token' }],
    ['with a wrong hint', { token_type_hint: 'access_token' }],
  ])('%s is refused, and the refresh token stays', async (_, hint) => {
    const { body } = await client.token();
    const token = String(body['refresh_token']);
    const refused = { status: 400, body: { error: 'invalid_grant' } };
    expect(await other.post({ token, ...hint }, '/revoke')).toMatchObject(refused);
    expect(await client.refresh(token)).toMatchObject({ status: 200 });
  });

  test('of its own client ends it', async () => {
    const { body } = await client.token();
    expect((await client.post({ token: String(body['refresh_token']) }, '/revoke')).status).toBe(200);
    expect(await client.refresh(body['refresh_token'])).toMatchObject({ status: 400 });
  });
});

test('a refresh token that is presented as an access token, or as a code, does not end its grant', async () => {
  const { body } = await client.token();
  const token = String(body['refresh_token']);
  expect(await world.listTools(token)).toBe(401);
  const code = {
    grant_type: 'authorization_code',
    code: token,
    redirect_uri: client.redirectUri,
    code_verifier: 'x'.repeat(43),
  };
  expect(await client.post(code)).toMatchObject({ status: 400 });
  expect(await world.listTools(body['access_token'])).toBe(200);
  expect(await client.refresh(token)).toMatchObject({ status: 200 });
});

describe('logs and counts a grant that a second use ends', () => {
  const told = (): readonly string[] => world.observed.filter((line) => line.startsWith('grant ended'));
  const time = '20[0-9-]+T[0-9:.]+Z';

  test('of a refresh token, with client, subject and the time of the first use', async () => {
    const { body } = await client.token();
    const next = await client.refresh(body['refresh_token']);
    const before = told().length;
    const refused = { status: 400, body: { error: 'invalid_grant' } };
    expect(await client.refresh(body['refresh_token'])).toMatchObject(refused);
    expect(await client.refresh(next.body['refresh_token'])).toMatchObject(refused);
    // The grant has ended: nothing more is logged about it.
    expect(await client.refresh(body['refresh_token'])).toMatchObject(refused);
    expect(told().slice(before)).toEqual([
      expect.stringMatching(new RegExp(`^grant ended refresh_token.reused ${client.id} [\\w-]{43} ${time}$`)),
    ]);
  });

  test('of a code', async () => {
    const form = await client.code();
    expect(await client.post(form)).toMatchObject({ status: 200 });
    const before = told().length;
    expect(await client.post(form)).toMatchObject({ status: 400 });
    expect(told().slice(before)).toEqual([
      expect.stringMatching(new RegExp(`^grant ended authorization_code.reused ${client.id} [\\w-]{43} ${time}$`)),
    ]);
  });
});
