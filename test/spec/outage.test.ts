import { describe, expect, test } from 'vitest';
import { createKey, type Issuer, startIssuer } from '../support/issuer.ts';
import { startWireWorld, toolCall } from '../worlds/wire.ts';
import { startWorld, type World } from '../worlds/gateway.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';

describe('the upstream', () => {
  const world = startBeforeAll(startWireWorld);

  test('R-133: answers 502 when the upstream is unreachable', async () => {
    const token = await world.token();
    expect(await world.send('/dead/api', { token })).toMatchObject({ status: 502, challenge: null });
    const { status, text } = await world.post('/dead/mcp', token, toolCall('x'));
    expect(status).toBe(502);
    expect(JSON.parse(text)).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      error: { data: { reason: 'upstream.unreachable' } },
    });
  });

  test('R-133: answers 504 when the upstream is too slow', async () => {
    const token = await world.token();
    expect(await world.send('/api/slow', { token })).toMatchObject({ status: 504, challenge: null });
    const { status, text } = await world.post('/slow/mcp', token, toolCall('x'));
    expect(status).toBe(504);
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: 7, error: { data: { reason: 'upstream.timeout' } } });
  });
});

describe('the authorization server', () => {
  /** Starts the issuer of a world again, at the same address. */
  const comesBack = ({ issuer }: World): Promise<Issuer> =>
    forThisTest(startIssuer(Number(new URL(issuer.url).port), issuer.key));

  test('R-149: answers 503 for unknown tokens, and goes on with known keys and answers', async () => {
    const world = await forThisTest(startWireWorld());
    const [known, unknown] = [world.opaque(), world.opaque()];
    const [jwt, expired] = [await world.token(), await world.token({ exp: 1 })];
    const statuses = async (): Promise<readonly number[]> => {
      const answers = [known, unknown, jwt, expired].map((token) => world.post('/plain', token, ''));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    await world.post('/plain', known, '');
    await world.post('/plain', jwt, '');
    await world.issuer.close();
    expect(await statuses()).toEqual([200, 503, 200, 401]);
    // Signed after the server went away, by a key that is known.
    expect(await world.send('/plain', { token: await world.token({ sub: 'bob' }) })).toMatchObject({ status: 200 });

    const refused = await world.post('/plain', unknown, '');
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(refused.challenge).toBeNull();
    const mcp = await world.post('/mcp', unknown, toolCall('get_x'));
    expect(mcp).toMatchObject({ status: 503, challenge: null });
    expect(mcp.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(JSON.parse(mcp.text)).toMatchObject({
      jsonrpc: '2.0',
      error: { data: { reason: 'authorization_server.unavailable' } },
    });

    // The answer that is reused ends with its time.
    world.advance(31);
    expect(await statuses()).toEqual([503, 503, 200, 401]);

    const back = await comesBack(world);
    back.introspection.set(unknown, world.issuer.introspection.get(unknown));
    await expect.poll(async () => (await world.post('/plain', unknown, '')).status).toBe(200);
  });

  test('R-149: answers 503 for JWTs too where it knows no keys, and 401 at once without a token', async () => {
    const world = await forThisTest(startWireWorld());
    world.issuer.intercept = (_request, response) => Boolean(response.writeHead(500).end());
    const answers = await Promise.all([world.send('/plain'), world.send('/plain', { token: await world.token() })]);
    expect(answers.map(({ status }) => status)).toEqual([401, 503]);
  });

  test('R-150: uses known keys for the time of `stale` and no longer, also for tokens verified before', async () => {
    const server = 'jwt: { algorithms: [RS256] }, stale: 2h';
    const routes = ['name: api, path: /, audience: a, upstream: { url: "UPSTREAM" }'];
    const world = await forThisTest(startWorld({ server, routes }));
    const exp = Math.floor(Date.now() / 1000) + 86_400;
    const [known, other] = await Promise.all(['alice', 'bob'].map((sub) => world.issuer.sign({ aud: 'a', exp, sub })));
    const statuses = async (): Promise<readonly number[]> => {
      const answers = [known, other].map((token) => world.send('/', { token: token ?? '' }));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    await world.send('/', { token: known ?? '' });
    await world.issuer.close();
    world.advance(119 * 60);
    expect(await statuses()).toEqual([200, 200]);
    world.advance(2 * 60);
    expect(await statuses()).toEqual([503, 503]);
    await comesBack(world);
    world.advance(60);
    await expect.poll(statuses).toEqual([200, 200]);
  });

  test('R-151: refuses tokens of a withdrawn key, also those verified before', async () => {
    const world = await forThisTest(startWireWorld());
    const exp = Math.floor(Date.now() / 1000) + 86_400;
    const [old, next] = [await world.token({ exp }), await createKey('k2')];
    const byNext = await world.issuer.sign({ aud: 'a', scope: 'read', exp }, { key: next });
    const statusOf = async (token: string): Promise<number> => (await world.send('/plain', { token })).status;
    expect(await statusOf(old)).toBe(200);
    world.issuer.keys = [world.issuer.key.publicJwk, next.publicJwk];
    world.advance(6);
    expect([await statusOf(byNext), await statusOf(old)], 'both are published').toEqual([200, 200]);
    world.issuer.keys = [next.publicJwk];
    world.advance(5 * 60 + 1);
    expect([await statusOf(byNext), await statusOf(old)]).toEqual([200, 401]);
    await world.gateway.decision({ reason: 'token.key' });
  });
});
