import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fault, faults } from '../support/fault-server.ts';
import { createKey, type IssuerKey } from '../support/issuer.ts';
import { answeredMs, expectAway, expectServed, startOutageWorld, type OutageWorld } from '../worlds/outage.ts';

/** One of each kind: no connection, no answer, an error, an answer that is none. Introspection shows all. */
const kinds: readonly Fault[] = ['reset', 'silence', 'maintenance', 'a page'];

let world: OutageWorld;

describe('keys', () => {
  let known: string;
  let opaque: string;
  let next: IssuerKey;
  let count = 0;
  beforeAll(async () => {
    world = await startOutageWorld();
    next = await createKey('next');
    [known, opaque] = [await world.jwt(), world.server.opaque()];
    expectServed(await world.get('/api', known));
    expectServed(await world.get('/exchanged', opaque));
  });
  afterAll(() => world.close());

  test.each(kinds)('%s: known keys go on, an unknown one is no verdict, and afterwards it is found', async (fault) => {
    const { server } = world;
    count += 1;
    const fresh = { ...next, kid: `next-${count}` };
    const byNewKey = await world.jwt({}, { key: fresh });
    world.advance(6);
    server.fault('jwks', fault);
    expectAway(await world.get('/api', byNewKey));
    for (const [path, token] of [
      ['/api', known],
      ['/api', await world.jwt({ sub: `bob-${count}` })],
      ['/api', opaque],
      ['/exchanged', opaque],
      ['/api', server.opaque()],
    ] as const) {
      expect(await world.get(path, token)).toMatchObject({ status: 200 });
    }
    server.fault('jwks', undefined);
    server.issuer.keys = [server.issuer.key.publicJwk, { ...next.publicJwk, kid: fresh.kid }];
    world.advance(6);
    expectServed(await world.get('/api', byNewKey));
  });
});

describe('introspection', () => {
  let known: string;
  let jwt: string;
  beforeAll(async () => {
    world = await startOutageWorld();
    [known, jwt] = [world.server.opaque(), await world.jwt()];
    expectServed(await world.get('/exchanged', known));
    expectServed(await world.get('/api', jwt));
  });
  afterAll(() => world.close());

  test.each(Object.keys(faults) as Fault[])('%s: cached tokens stay valid, others get 503', async (fault) => {
    const { server } = world;
    const unknown = server.opaque();
    server.fault('introspection', fault);
    expectAway(await world.get('/api', unknown));
    expectServed(await world.get('/api', known));
    expectServed(await world.get('/exchanged', known));
    expectServed(await world.get('/api', jwt));
    expectServed(await world.get('/api', await world.jwt({ sub: fault })));
    server.fault('introspection', undefined);
    expect(await world.get('/api', unknown)).toMatchObject({ status: 200 });
  });
});

describe('exchange', () => {
  let known: string;
  beforeAll(async () => {
    world = await startOutageWorld();
    known = world.server.opaque();
    expectServed(await world.get('/exchanged', known));
  });
  afterAll(() => world.close());

  /** Answers that are none are the upstream's trouble: asking again brings the same. */
  const answers: ReadonlySet<Fault> = new Set(['a page']);

  test.each(kinds)('%s: cached credentials stay valid, others get 503', async (fault) => {
    const { server } = world;
    const unknown = server.opaque();
    server.fault('token', fault);
    const seen = await world.get('/exchanged', unknown);
    expect(seen.ms).toBeLessThan(answeredMs);
    expect([seen.status, seen.retryAfter === undefined]).toEqual(answers.has(fault) ? [502, true] : [503, false]);
    expectServed(await world.get('/exchanged', known));
    expect(await world.get('/api', unknown), 'which needs no exchange').toMatchObject({ status: 200 });
    server.fault('token', undefined);
    // A refusal is remembered for a moment.
    world.advance(10);
    expectServed(await world.get('/exchanged', unknown));
  });
});

describe('discovery', () => {
  test.each(kinds)('%s at the start: 503 until the server recovers', async (fault) => {
    const began = await startOutageWorld({ before: (server) => server.fault('discovery', fault) });
    const [jwt, opaque] = [await began.jwt(), began.server.opaque()];
    for (const seen of await Promise.all([began.get('/api', jwt), began.get('/api', opaque)])) expectAway(seen);
    expectServed(await began.get('/public'));
    expect(await began.get('/api', 'a.b'), 'no server answers for it').toMatchObject({ status: 503 });
    expect(await began.get('/api')).toMatchObject({ status: 401 });
    expect(await began.ready()).toMatchObject({ state: 'unavailable', problem: expect.any(String) });
    began.server.fault('discovery', undefined);
    // On a busy machine the next call can time out, and the one after it is due later.
    const later = async (): Promise<number> => {
      began.advance(60);
      return (await began.get('/api', jwt)).status;
    };
    await expect.poll(later).toBe(200);
    expectServed(await began.get('/api', opaque));
    expect((await began.ready())['state']).toBe('available');
    expect(await began.events()).toMatchObject([
      { level: 'error', msg: 'authorization server unavailable', server: 'main', state: 'unavailable' },
      { level: 'info', msg: 'authorization server available again', server: 'main' },
    ]);
    await began.close();
  });
});

test('no outage: a page in place of one document leads to the next', async () => {
  const began = await startOutageWorld({
    before({ issuer }) {
      const metadata = JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` });
      const inner = issuer.intercept;
      issuer.intercept = (request, response, body) => {
        if (request.url === '/.well-known/oauth-authorization-server') {
          response.writeHead(302, { location: '/sign-in' }).end();
          return true;
        }
        if (request.url !== '/.well-known/openid-configuration') return inner?.(request, response, body) ?? false;
        response.end(metadata);
        return true;
      };
    },
  });
  expect(await began.get('/api', await began.jwt())).toMatchObject({ status: 200 });
  await began.close();
});
