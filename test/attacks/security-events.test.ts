import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { caep, startTransmitter } from '../support/transmitter.ts';
import { startRevocationWorld } from '../worlds/revocation.ts';

const world = startBeforeAll(startRevocationWorld);

const revoked = `${caep}session-revoked`;
const api = async (token: string): Promise<number> => (await world.send('/api', { token })).status;
const signed = (claims: Record<string, unknown>, header = {}) =>
  world.transmitter.sign(revoked, world.person(), {}, { claims, header });

// test/serve/revocation/push.test.ts has the table of events.
test.each<[string, string, () => Promise<string>]>([
  [
    'a key in its own header',
    'invalid_key',
    async () => {
      const stranger = await startTransmitter();
      const set = await stranger.sign(
        revoked,
        world.person(),
        {},
        {
          claims: { iss: world.transmitter.url },
          header: { jwk: stranger.key.publicJwk, kid: 'mine' },
        },
      );
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
  const [head = '', body = ''] = (await signed({})).split('.');
  const forged = Array.from(
    { length: 300 },
    (_, index) => `${head}.${body}.${Buffer.from(`forged ${index}`).toString('base64url')}`,
  );
  const keysBefore = world.transmitter.requests.filter(({ path }) => path === '/jwks').length;
  const flood = Promise.all(forged.map((set) => world.push(set)));
  const [status, event] = await Promise.all([api(good), world.event(revoked, world.person('mallory'))]);
  expect([status, event.status, await api(victim), await api(good)]).toEqual([200, 202, 401, 200]);
  expect(new Set((await flood).map(({ status: each, body: answer }) => `${each} ${String(answer?.['err'])}`))).toEqual(
    new Set(['400 invalid_key']),
  );
  expect(world.transmitter.requests.filter(({ path }) => path === '/jwks').length - keysBefore).toBeLessThan(3);
});

test('bodies that never end do not keep a good event out', async () => {
  const { hostname, port } = new URL(world.gateway.url);
  const sockets = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      await once(socket, 'connect');
      const head =
        'POST /events HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/secevent+jwt\r\nContent-Length: 60000\r\n\r\n';
      socket.write(head + 'x'.repeat(50_000));
      return socket;
    }),
  );
  expect((await world.event(revoked, world.person('trent'))).status).toBe(202);
  for (const socket of sockets) socket.destroy();
});

test('a client that does not read keeps no stream open at the upstream', async () => {
  const token = await world.token({ sub: 'slow' });
  const { hostname, port } = new URL(world.gateway.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(`GET /api/stream HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await once(socket, 'data');
  socket.pause();
  const open = world.upstream.sockets.size;
  expect((await world.event(revoked, world.person('slow'))).status).toBe(202);
  expect(await world.gateway.line({ msg: 'stream ended', reason: 'token.revoked' })).toBeDefined();
  await expect.poll(() => world.upstream.sockets.size).toBeLessThan(open);
  socket.destroy();
});

test('a transmitter that forgets acknowledgements is not polled without a pause', async () => {
  const transmitter = await startTransmitter();
  const set = await transmitter.sign(
    revoked,
    { format: 'opaque', id: 'carol' },
    {},
    { claims: { jti: '__proto__', exp: 1 } },
  );
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
