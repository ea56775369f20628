/** Tokens that the front door binds to the key of a client (DPoP), used and stolen at the gateway. */
import { describe, expect, test } from 'vitest';
import { createProver, type Prover } from '../support/prover.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

describe.each([
  ['at an origin of its own', undefined],
  ['behind a public route', '/signin'],
])('a front door %s', (_place, below) => {
  const world = startBeforeAll(() =>
    startFrontDoorWorld({
      ...(below !== undefined && { below }),
      routeLines: '    dpop: {}',
      frontDoor: 'clients: { refresh: true, registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }',
    }),
  );

  const tokenUrl = (): string => `${world.issuer}/token`;

  async function postWith(prover: Prover, client: OAuthClient, form: Record<string, string>) {
    return client.post(form, '/token', { dpop: await prover.proof({ url: tokenUrl(), method: 'POST' }) });
  }

  const send = (headers: Record<string, string>) => world.listTools(undefined, headers);

  test('R-270: binds a token to the key of its client, which the gateway then requires', async () => {
    const [owner, thief] = [await createProver(), await createProver()];
    const client = await registerClient(world.issuer);
    const { body } = await postWith(owner, client, await client.code());
    expect(body['token_type']).toBe('DPoP');
    const token = String(body['access_token']);
    const request = { url: world.mcpUrl.href, method: 'POST', token };
    expect(await send(await owner.headers(request))).toBe(200);
    for (const [headers, reason] of [
      [{ authorization: `Bearer ${token}` }, 'token.sender_constrained'],
      [{ authorization: `DPoP ${token}` }, 'proof.missing'],
      [await thief.headers(request), 'token.binding'],
    ] as const) {
      expect(await send(headers)).toBe(401);
      expect(await world.decision()).toMatchObject({ allow: false, reason });
    }
  });

  // A public route changes no more than addresses.
  if (below !== undefined) return;

  test('R-270: redeems a code that is bound to a key for that key alone', async () => {
    const [owner, thief] = [await createProver(), await createProver()];
    const client = await registerClient(world.issuer);
    const bound = () => client.code({ parameters: { dpop_jkt: owner.cnf.jkt } });
    expect((await postWith(thief, client, await bound())).body).toMatchObject({ error: 'invalid_grant' });
    expect((await client.post(await bound())).body).toMatchObject({ error: 'invalid_grant' });
    expect((await postWith(owner, client, await bound())).body).toMatchObject({ token_type: 'DPoP' });
  });

  test('R-270: refreshes a bound token of a public client for its key alone', async () => {
    const [owner, thief] = [await createProver(), await createProver()];
    const client = await registerClient(world.issuer, { grant_types: ['authorization_code', 'refresh_token'] });
    const refreshTokenOf = async (): Promise<Record<string, string>> => {
      const { body } = await postWith(owner, client, await client.code());
      return { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
    };
    expect((await postWith(thief, client, await refreshTokenOf())).body).toMatchObject({ error: 'invalid_grant' });
    expect((await client.post(await refreshTokenOf())).body).toMatchObject({ error: 'invalid_grant' });
    expect((await postWith(owner, client, await refreshTokenOf())).body).toMatchObject({ token_type: 'DPoP' });
  });

  test('R-270: accepts a proof once', async () => {
    const owner = await createProver();
    const client = await registerClient(world.issuer);
    const dpop = await owner.proof({ url: tokenUrl(), method: 'POST' });
    expect((await client.post(await client.code(), '/token', { dpop })).status).toBe(200);
    const { body } = await client.post(await client.code(), '/token', { dpop });
    expect(body).toMatchObject({ error: 'invalid_grant' });
  });

  test.each([
    ['another address', { htu: 'https://other.example/token' }],
    ['another method', { htm: 'GET' }],
    ['an old time', { iat: 1_700_000_000 }],
  ])('R-270: refuses a proof for %s', async (_what, claims) => {
    const client = await registerClient(world.issuer);
    const dpop = await (await createProver()).proof({ url: tokenUrl(), method: 'POST' }, { claims });
    const { body } = await client.post(await client.code(), '/token', { dpop });
    expect(body).toMatchObject({ error: 'invalid_dpop_proof' });
  });
});
