import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { certificate, pem, x509 } from '../support/certificates.ts';
import { question } from './ask.ts';
import { isInstalled, startProxy, type Proxy } from '../worlds/proxies.ts';
import { startForwardAuthWorld } from '../worlds/forward-auth.ts';
import type { World } from '../worlds/gateway.ts';

const { raw } = x509('client');
const cnf = { 'x5t#S256': createHash('sha256').update(raw).digest('base64url') };
/** What anyone can write: a certificate is no secret. */
const claimed = `:${raw.toString('base64')}:`;

/** The gateway believes these proxies in everything, so that all depends on what their examples pass on. */
const trusting = { yaml: 'trusted_proxies: [127.0.0.1]\ncertificate_proxies: [127.0.0.1]' };

interface Place {
  readonly title: string;
  readonly requestLine: string;
  /** What a token for it says. */
  readonly claims: object;
  readonly body: string;
}

/** Each place of the examples from which a request, or the question about it, reaches the gateway. */
const places: readonly Place[] = [
  { title: 'where the gateway is asked', requestLine: 'GET /things', claims: {}, body: '' },
  {
    title: 'where the request passes through the gateway',
    requestLine: 'POST /mcp',
    claims: { aud: 'http://gateway.test/mcp' },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  },
];

const lines = (token: string): string[] => [
  'Host: gateway.test',
  'Content-Type: application/json',
  `Authorization: Bearer ${token}`,
];

describe.each([
  ['nginx', '-v'],
  ['caddy', 'version'],
  ['haproxy', '-v'],
] as const)('%s with the example in deploy/forward-auth', (program, versionFlag) => {
  const installed = isInstalled(program, versionFlag);
  let world: World;
  let proxy: Proxy;
  beforeAll(async () => {
    if (!installed) return;
    world = await startForwardAuthWorld(trusting);
    proxy = await startProxy(program, world);
  });
  afterAll(async () => {
    if (!installed) return;
    await proxy.close();
    await world.close();
  });

  test.runIf(installed).each(places)(
    'refuses a stolen bound token with its certificate as a header $title',
    async (place) => {
      const { requestLine, claims, body } = place;
      const send = async (more: object, ...header: readonly string[]): Promise<number> => {
        const token = await world.token({ ...claims, ...more });
        return (await question(proxy.url, requestLine, [...lines(token), ...header], body)).status;
      };
      expect(await send({}), 'a token that is not bound').toBe(200);
      for (const header of [
        [`Client-Cert: ${claimed}`],
        [`cLIENT-cERT: ${claimed}`],
        [`Client_Cert: ${claimed}`],
        [`Client-Cert: ${claimed}`, `Client-Cert: ${claimed}`],
        [`Client-Cert: ${claimed}`, 'Connection: close, Client-Cert'],
      ]) {
        expect({ header, status: await send({ cnf }, ...header) }).toEqual({ header, status: 401 });
      }
    },
  );
});

describe.each([
  ['caddy', 'version'],
  ['haproxy', '-v'],
] as const)('%s with the line of its example that sets Client-Cert', (program, versionFlag) => {
  const installed = isInstalled(program, versionFlag);
  let world: World;
  let proxy: Proxy;
  beforeAll(async () => {
    if (!installed) return;
    world = await startForwardAuthWorld(trusting);
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-tls-'));
    const pair = join(folder, 'pair.pem');
    await writeFile(pair, pem('server') + pem('server-key'));
    const edits = {
      caddy: {
        'http://:8000 {': `https://:8000 {
          tls ${certificate('server')} ${certificate('server-key')} {
            client_auth {
              mode verify_if_given
              trusted_ca_cert_file ${certificate('ca')}
            }
          }`,
        '\n\trequest_header -Client-Cert\n': '\n',
        // Indented behind `#`: the lines that are to be written instead.
        '\n\t#   ': '\n\t',
      },
      haproxy: {
        'bind 127.0.0.1:8000': `bind 127.0.0.1:8000 ssl crt ${pair} ca-file ${certificate('ca')} verify optional`,
        // Below the line that removes it.
        'http-request del-header Client-Cert\n': '\n',
        '#   http-request set-header': 'http-request del-header Client-Cert\n    http-request set-header',
      },
    };
    proxy = await startProxy(program, world, edits[program]);
    await rm(folder, { recursive: true });
  });
  afterAll(async () => {
    if (!installed) return;
    await proxy.close();
    await world.close();
  });

  async function send(place: Place, name: string | undefined, header: Readonly<Record<string, string>> = {}) {
    const [method, path] = place.requestLine.split(' ');
    const token = await world.token({ ...place.claims, cnf });
    const sent = request(`${proxy.url.replace('http:', 'https:')}${path}`, {
      method,
      servername: 'gateway.test',
      ca: pem('ca'),
      ...(name !== undefined && { cert: pem(name), key: pem(`${name}-key`) }),
      agent: false,
      headers: {
        host: 'gateway.test',
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        ...header,
      },
    }).end(place.body);
    const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }];
    response.resume();
    return response.statusCode;
  }

  test.runIf(installed).each(places)('lets the holder of the certificate call $title', async (place) => {
    expect(await send(place, 'client')).toBe(200);
    expect(await send(place, 'client', { 'client-cert': ':AAAA:' }), 'whatever its header says').toBe(200);
  });

  test.runIf(installed).each(places)('refuses a header instead of the handshake $title', async (place) => {
    expect(await send(place, undefined)).toBe(401);
    expect(await send(place, undefined, { 'client-cert': claimed })).toBe(401);
  });
});

test.each(['nginx', 'caddy'] as const)('%s without its line: the gateway believes no header', async (program) => {
  if (!isInstalled(program, program === 'nginx' ? '-v' : 'version')) return;
  const world = await startForwardAuthWorld({ yaml: 'trusted_proxies: [127.0.0.1]' });
  onTestFinished(() => world.close());
  const line = { nginx: 'proxy_set_header Client-Cert "";', caddy: '\n\trequest_header -Client-Cert\n' }[program];
  const proxy = await startProxy(program, world, { [line]: '\n' });
  onTestFinished(() => proxy.close());
  for (const { requestLine, claims, body } of places) {
    const token = await world.token({ ...claims, cnf });
    const { status } = await question(proxy.url, requestLine, [...lines(token), `Client-Cert: ${claimed}`], body);
    expect({ requestLine, status }).toEqual({ requestLine, status: 401 });
  }
});
