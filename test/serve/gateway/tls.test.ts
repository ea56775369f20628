import { once } from 'node:events';
import { request as secureRequest } from 'node:https';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { certificateThumbprint } from '../../../src/lib/digest.ts';
import { certificate, pem, tlsLine, x509 } from '../../support/certificates.ts';
import { exchangeRaw } from '../../support/raw.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';
import { sample } from '../../support/gateway.ts';
import { type RoutesWorld, startRoutesWorld } from '../../worlds/routes.ts';

let world: RoutesWorld | undefined;
let upstream: Upstream | undefined;
afterEach(async () => {
  await world?.close();
  await upstream?.close();
});

async function start(lines: string): Promise<RoutesWorld> {
  upstream = await startUpstream();
  world = await startRoutesWorld(
    [
      `name: api, path: /api, upstream: { url: ${upstream.url} }`,
      `name: open, path: /open, public: true, upgrade: websocket, upstream: { url: ${upstream.url} }`,
    ],
    lines,
  );
  return world;
}

/** The status that a token gets which is bound to the certificate `client`, shown with the certificate of `name`. */
async function bound({ url, issuer }: RoutesWorld, name: string | undefined, headers = {}): Promise<number> {
  const token = await issuer.sign({
    aud: 'https://api.example',
    cnf: { 'x5t#S256': certificateThumbprint(x509('client').raw) },
  });
  const own = name === undefined ? {} : { cert: pem(name), key: pem(`${name}-key`) };
  const authorization = `Bearer ${token}`;
  const sent = secureRequest(`${url}/api`, {
    ca: pem('ca'),
    ...own,
    agent: false,
    headers: { host: 'gateway.test', authorization, ...headers },
  }).end();
  const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }];
  response.resume();
  return response.statusCode;
}

const asHeader = { 'client-cert': `:${x509('client').raw.toString('base64')}:` };

describe('a token that is bound to a certificate', () => {
  test.each([
    ['any', 'client', 200],
    ['any', 'self-signed', 401],
    ['any', undefined, 401],
    [certificate('ca'), 'client', 200],
    [certificate('other-ca'), 'client', 401],
  ])('gets, with client_ca %s and the certificate %s: %i', async (clientCa, name, status) => {
    expect(await bound(await start(tlsLine(`, client_ca: ${clientCa}`)), name)).toBe(status);
  });

  test('is refused if no certificates are requested', async () => {
    expect(await bound(await start(tlsLine()), 'client')).toBe(401);
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
  const { url } = await start(tlsLine());
  const server = new WebSocketServer({ server: upstream?.server });
  server.on('connection', (socket) => socket.on('message', (text) => socket.send(text)));
  const client = new WebSocket(`${url.replace('https', 'wss')}/open`, {
    ca: pem('ca'),
    headers: { host: 'gateway.test' },
  });
  await once(client, 'open');
  client.send('hello');
  const [answer] = (await once(client, 'message')) as [Buffer];
  expect(String(answer)).toBe('hello');
  client.close();
  await once(client, 'close');
  server.close();
});

test('publishes and forwards https', async () => {
  const { url } = await start(tlsLine());
  expect(url).toMatch(/^https:/);
  await exchangeRaw(url, 'GET /open HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n\r\n');
  expect(upstream?.seen[0]?.headers).toMatchObject({
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'gateway.test',
  });
});

describe('the expiry metric', () => {
  test('has the expiry of the certificate, and is absent without one', async () => {
    const name = 'sallyport_tls_certificate_expiry_timestamp_seconds';
    const secure = await start(tlsLine());
    expect(await sample(secure, name)).toBe(x509('server').validToDate.getTime() / 1000);
    await secure.line({ msg: 'tls certificate in force', expires: x509('server').validToDate.toISOString() });
    await secure.close();
    await upstream?.close();
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
