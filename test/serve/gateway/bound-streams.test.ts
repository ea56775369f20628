import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publicUrl, startWorld } from '../../worlds/gateway.ts';
import { createProver, type Prover } from '../../support/prover.ts';
import { exchangeRaw, head } from '../../support/raw.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const world = startBeforeAll(() =>
  startWorld({
    server: 'introspection: { client_id: gateway, client_secret: secret, cache: 30s }',
    routes: [
      'name: sockets, path: /sockets, audience: a, dpop: {}, upgrade: websocket, upstream: { url: "UPSTREAM" }',
      'name: streams, path: /streams, audience: a, dpop: {}, revalidate: 50ms, upstream: { url: "UPSTREAM" }',
    ],
    upstream: (_request, response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: x\n\n'),
  }),
);
let client: Prover;
const sockets: Duplex[] = [];
beforeAll(async () => {
  client = await createProver();
  world.upstream.server.on('upgrade', (_request, socket: Duplex) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello');
  });
  const bound = { active: true, sub: 'alice', aud: 'a', token_type: 'DPoP', cnf: client.cnf };
  for (const token of ['bound', 'revoked-later']) world.issuer.introspection.set(token, bound);
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

const asked = (): number => world.issuer.requestsTo('/introspect').length;

test('requires a proof for a WebSocket handshake', async () => {
  const proof = await client.proof({ url: `${publicUrl}/sockets`, token: 'bound' });
  const handshake = ['Connection: Upgrade', 'Upgrade: websocket', 'Authorization: DPoP bound'];
  const send = (...more: readonly string[]) =>
    exchangeRaw(world.gateway.url, head('GET /sockets', ...handshake, ...more));
  expect(await send()).toMatch(/^HTTP\/1\.1 401 .*\bDPoP error="invalid_dpop_proof"/s);
  expect(await send(`DPoP: ${proof}`)).toMatch(/^HTTP\/1\.1 101 .*hello$/s);
  expect(await send(`DPoP: ${proof}`), 'once').toMatch(/^HTTP\/1\.1 401 /);
});

test('requires a proof at the begin of a stream, and then revalidates its token', async () => {
  const url = `${publicUrl}/streams`;
  const response = await fetch(`${world.gateway.url}/streams`, {
    headers: await client.headers({ url, token: 'revoked-later' }),
  });
  expect(response.status).toBe(200);
  const before = asked();
  await expect.poll(asked).toBeGreaterThan(before + 1);
  world.issuer.introspection.set('revoked-later', { active: false });
  expect(await response.text(), 'until the token ends').toBe('data: x\n\n');
});
