import { expect, test } from 'vitest';
import { head, open } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { caep, startTransmitter } from '../support/transmitter.ts';
import { startRevocationWorld } from '../worlds/revocation.ts';

const world = startBeforeAll(startRevocationWorld);

const revoked = `${caep}session-revoked`;
const api = async (token: string): Promise<number> => (await world.send('/api', { token })).status;
const signed = (claims: Record<string, unknown>, header = {}) =>
  world.transmitter.sign(revoked, world.person(), {}, { claims, header });

// test/capabilities/revocation/push.test.ts has the table of events.
test.each<[string, string, () => Promise<string>]>([
  [
    'a key in its own header',
    'invalid_key',
    async () => {
      const stranger = await startTransmitter();
      const header = { jwk: stranger.key.publicJwk, kid: 'mine' };
      const otherwise = { claims: { iss: world.transmitter.url }, header };
      const set = await stranger.sign(revoked, world.person(), {}, otherwise);
      await stranger.close();
      return set;
    },
  ],
  [
    'a critical header',
    'invalid_key',
    async () => {
      const [, payload, signature] = (await signed({})).split('.');
      const header = { alg: 'RS256', kid: 't1', typ: 'secevent+jwt', crit: ['b64'], b64: false };
      return [Buffer.from(JSON.stringify(header)).toString('base64url'), payload, signature].join('.');
    },
  ],
  [
    'the subject of a prototype',
    'invalid_request',
    () => signed({ sub_id: JSON.parse('{"__proto__":{"format":"opaque","id":"alice"}}') }),
  ],
  ['an access token in place of an event', 'invalid_key', () => world.token({ iss: world.transmitter.url })],
])('an event with %s is refused as %s, and revokes nothing', async (_, err, set) => {
  const good = await world.token();
  expect(await world.push(await set())).toMatchObject({ status: 400, body: { err } });
  expect(await api(good)).toBe(200);
});

test('300 forged events at once delay neither requests nor a good event', async () => {
  const [good, victim] = await Promise.all([world.token(), world.token({ sub: 'mallory' })]);
  const [header = '', body = ''] = (await signed({})).split('.');
  const forged = Array.from({ length: 300 }, (_, index) => `${header}.${body}.${btoa(`forged ${index}`)}`);
  const fetches = (): number => world.transmitter.requests.filter(({ path }) => path === '/jwks').length;
  const keysBefore = fetches();
  const flood = Promise.all(forged.map((set) => world.push(set)));
  const [status, event] = await Promise.all([api(good), world.event(revoked, world.person('mallory'))]);
  expect([status, event.status, await api(victim), await api(good)]).toEqual([200, 202, 401, 200]);
  const answers = (await flood).map(({ status: each, body: answer }) => `${each} ${String(answer?.['err'])}`);
  expect(new Set(answers)).toEqual(new Set(['400 invalid_key']));
  expect(fetches() - keysBefore).toBeLessThan(3);
});

test('bodies that never end do not keep a good event out', async () => {
  const endless = head('POST /events', 'Content-Type: application/secevent+jwt', 'Content-Length: 60000');
  await Promise.all(Array.from({ length: 300 }, () => open(world.gateway.url, endless + 'x'.repeat(50_000))));
  expect((await world.event(revoked, world.person('trent'))).status).toBe(202);
});

test('a client that does not read keeps no stream open at the upstream', async () => {
  const token = await world.token({ sub: 'slow' });
  const client = await open(world.gateway.url, head('GET /api/stream', `Authorization: Bearer ${token}`));
  await client.has('data: ');
  client.socket.pause();
  const before = world.upstream.sockets.size;
  expect((await world.event(revoked, world.person('slow'))).status).toBe(202);
  expect(await world.gateway.line({ msg: 'stream ended', reason: 'token.revoked' })).toBeDefined();
  await expect.poll(() => world.upstream.sockets.size).toBeLessThan(before);
});

test('a transmitter that forgets acknowledgements is not polled without a pause', async () => {
  const transmitter = await startTransmitter();
  const claims = { jti: '__proto__', exp: 1 };
  const set = await transmitter.sign(revoked, { format: 'opaque', id: 'carol' }, {}, { claims });
  let polls = 0;
  transmitter.intercept = (request, response) => {
    if (request.url !== '/poll') return false;
    polls += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"sets":{"__proto__":"${set}"}}`);
    return true;
  };
  const polling = await startRevocationWorld({
    source: (issuer) => `issuer: ${issuer}, subjects: main, token: '\${env:TRANSMITTER_TOKEN}'`,
    transmitter,
  });
  await expect.poll(() => polls).toBeGreaterThan(1);
  const before = polls;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(polls - before).toBeLessThan(5);
  const bodies = transmitter.requests.filter(({ path }) => path === '/poll').map(({ body }) => body);
  expect(bodies.at(-1)).toContain('"setErrs":{"__proto__"');
  await polling.close();
});
