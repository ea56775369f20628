import { createHash } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { certificate, pem, statusFor, x509 } from '../support/certificates.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { nginx, question } from './ask.ts';
import { startForwardAuthWorld } from '../worlds/forward-auth.ts';
import { describeProxies, startProxyWorld } from '../worlds/proxies.ts';

const { raw } = x509('client');
const cnf = { 'x5t#S256': createHash('sha256').update(raw).digest('base64url') };
/** A `Client-Cert` that any client can write: a certificate is no secret. */
const claimed = `:${raw.toString('base64')}:`;

/** The gateway trusts every header of these proxies, so that only their examples protect it. */
const yaml = 'trusted_proxies: [127.0.0.1]\ncertificate_proxies: [127.0.0.1]';

interface Place {
  readonly title: string;
  readonly requestLine: string;
  /** The claims of a token for it. */
  readonly claims: object;
  readonly body: string;
}

/** The places of an example from which a request, or a question about one, reaches the gateway. */
const places: readonly Place[] = [
  { title: 'where the proxy asks the gateway', requestLine: 'GET /things', claims: {}, body: '' },
  {
    title: 'where the proxy forwards the request to the gateway',
    requestLine: 'POST /mcp',
    claims: { aud: 'http://gateway.test/mcp' },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  },
];

const headers = (token: string) => ({
  host: 'gateway.test',
  'content-type': 'application/json',
  authorization: `Bearer ${token}`,
});

test.each([
  ['trusted_proxies', 401],
  ['certificate_proxies', 200],
])('the certificate in a question of a proxy in %s alone: %i', async (list, status) => {
  const world = await forThisTest(startForwardAuthWorld({ yaml: `${list}: [127.0.0.1]` }));
  const fields = [`Authorization: Bearer ${await world.token({ cnf })}`, `Client-Cert: ${claimed}`];
  expect((await nginx(world.gateway.forwardAuthUrl, { lines: fields })).status).toBe(status);
});

describeProxies(['nginx', 'caddy', 'haproxy'], 'with the example in deploy/forward-auth', (program) => {
  const world = startBeforeAll(() => startProxyWorld(program, { yaml }));

  test.each(places)('refuses a stolen bound token with its certificate in a header, $title', async (place) => {
    const { requestLine, claims, body } = place;
    const send = async (more: object, ...header: readonly string[]): Promise<number> => {
      const token = await world.token({ ...claims, ...more });
      const lines = Object.entries(headers(token)).map(([name, value]) => `${name}: ${value}`);
      return (await question(world.proxyUrl, requestLine, [...lines, ...header], body)).status;
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
  });
});

describeProxies(['caddy', 'haproxy'], 'with the line of its example that sets Client-Cert', (program) => {
  const world = startBeforeAll(async () => {
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
    return startProxyWorld(program, { yaml, edits: edits[program] });
  });

  async function send(place: Place, name: string | undefined, header: Readonly<Record<string, string>> = {}) {
    const [method, path] = place.requestLine.split(' ');
    const token = await world.token({ ...place.claims, cnf });
    const options = { method, servername: 'gateway.test', headers: { ...headers(token), ...header } };
    return statusFor(name, `${world.proxyUrl.replace('http:', 'https:')}${path}`, options, place.body);
  }

  test.each(places)('allows a call with the certificate, $title', async (place) => {
    expect(await send(place, 'client')).toBe(200);
    expect(await send(place, 'client', { 'client-cert': ':AAAA:' }), 'with any header').toBe(200);
  });

  test.each(places)('refuses a certificate in a header without one in the handshake, $title', async (place) => {
    expect(await send(place, undefined)).toBe(401);
    expect(await send(place, undefined, { 'client-cert': claimed })).toBe(401);
  });
});
