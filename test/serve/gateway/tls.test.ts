import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { certificateThumbprint } from '../../../src/core/lib/digest.ts';
import { certificate, pem, statusFor, tlsLine, x509 } from '../../support/certificates.ts';
import { exchangeRaw } from '../../support/raw.ts';
import { sample } from '../../support/gateway.ts';
import { forThisTest } from '../../support/start-before.ts';
import { type RoutesWorld, startRoutesWorld } from '../../worlds/routes.ts';

const routes = [
  'name: api, path: /api, upstream: { url: UPSTREAM }',
  'name: open, path: /open, public: true, upgrade: websocket, upstream: { url: UPSTREAM }',
];
const start = (lines: string): Promise<RoutesWorld> => forThisTest(startRoutesWorld(routes, lines));

/** The status that a token gets which is bound to the certificate `client`, shown with the certificate of `name`. */
async function bound({ url, token }: RoutesWorld, name: string | undefined, headers = {}): Promise<unknown> {
  const authorization = `Bearer ${await token({ cnf: { 'x5t#S256': certificateThumbprint(x509('client').raw) } })}`;
  return statusFor(name, `${url}/api`, { headers: { host: 'gateway.test', authorization, ...headers } });
}

const asHeader = { 'client-cert': `:${x509('client').raw.toString('base64')}:` };

describe('a token that is bound to a certificate', () => {
  // test/core/gateway/listen/tls.test.ts has the table of certificates that count.
  test.each([
    ['certificates', ', client_ca: any', 200],
    ['none', '', 401],
  ])('gets its call answered where the listener requests %s: %i', async (_what, clientCa, status) => {
    const world = await start(tlsLine(clientCa));
    expect([await bound(world, 'client'), await bound(world, 'self-signed')]).toEqual([status, 401]);
  });

  test('does not match the certificate of a trusted proxy', async () => {
    const trusting = await start(`${tlsLine(', client_ca: any')}certificate_proxies: [127.0.0.1]\n`);
    expect(await bound(trusting, 'client')).toBe(401);
    expect(await bound(trusting, 'self-signed', asHeader)).toBe(200);
    expect(await bound(trusting, undefined, asHeader)).toBe(200);
    const addressing = await start(`${tlsLine(', client_ca: any')}trusted_proxies: [127.0.0.1]\n`);
    expect(await bound(addressing, 'client')).toBe(401);
  });

  test('ignores a header beside a client’s own certificate', async () => {
    expect(await bound(await start(tlsLine(', client_ca: any')), 'self-signed', asHeader)).toBe(401);
  });
});

test('forwards a WebSocket', async () => {
  const { url, upstream } = await start(tlsLine());
  const server = new WebSocketServer({ server: upstream.server });
  server.on('connection', (socket) => socket.on('message', (text) => socket.send(text)));
  const options = { ca: pem('ca'), headers: { host: 'gateway.test' } };
  const client = new WebSocket(`${url.replace('https', 'wss')}/open`, options);
  await once(client, 'open');
  client.send('hello');
  const [answer] = (await once(client, 'message')) as [Buffer];
  expect(String(answer)).toBe('hello');
  client.close();
  await once(client, 'close');
  server.close();
});

test('publishes and forwards https', async () => {
  const { url, upstream } = await start(tlsLine());
  expect(url).toMatch(/^https:/);
  await exchangeRaw(url, 'GET /open HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n\r\n');
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'gateway.test' };
  expect(upstream.seen[0]?.headers).toMatchObject(forwarded);
});

describe('the expiry metric', () => {
  test('has the expiry of the certificate, and is absent without one', async () => {
    const name = 'sallyport_tls_certificate_expiry_timestamp_seconds';
    const secure = await start(tlsLine());
    expect(await sample(secure, name)).toBe(x509('server').validToDate.getTime() / 1000);
    await secure.line({ msg: 'tls certificate in force', expires: x509('server').validToDate.toISOString() });
    expect(await (await start('')).metrics()).not.toMatch(new RegExp(`^${name} `, 'm'));
  });

  test.each([
    ['info', []],
    ['debug', ['tls handshake failed', 'client certificate does not count']],
  ])('at %s: %j', async (level, messages) => {
    const secure = await start(`${tlsLine(`, client_ca: ${certificate('other-ca')}`)}log: { level: ${level} }\n`);
    await exchangeRaw(secure.url.replace('https', 'http'), 'GET / HTTP/1.1\r\n\r\n');
    expect(await bound(secure, 'client')).toBe(401);
    await secure.decisions(1);
    const lines = await secure.lines();
    const told = lines.map(({ msg }) => msg).filter((msg) => /handshake|client certificate/.test(String(msg)));
    expect(told).toEqual(messages);
    expect(JSON.stringify(lines)).not.toMatch(/BEGIN|MII/);
  });
});
