/** Clients that publish themselves: what the front door fetches of them, and from where. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createBrowser } from '../../demo/browser.ts';
import { listen } from '../../demo/listen.ts';
import { createDocumentFetch, type DocumentFetchParts } from '../../src/front-door/document-fetch.ts';
import { pem } from '../support/certificates.ts';
import { exchangeRaw } from '../support/raw.ts';
import { keepSecret } from '../support/secrecy.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { oauthClient } from '../worlds/oauth-client.ts';

const requests: string[] = [];
let connections = 0;
let answer: (response: ServerResponse, id: string) => void;

const server = createServer({ cert: pem('server'), key: pem('server-key') }, (request, response) => {
  requests.push(request.url ?? '');
  answer(response, `https://${request.headers.host}${request.url}`);
}).on('connection', () => (connections += 1));
const { url: origin, close } = await listen(server, 0);
const { port } = new URL(origin);

afterAll(close);
beforeEach(() => {
  requests.length = 0;
  answer = send;
});

const json = { 'content-type': 'application/json' };
const urlOf = (name: string, host = 'localhost'): string => `https://${host}:${port}/${name}.json`;

function send(response: ServerResponse, id: string, more: object = {}): void {
  const redirects = { redirect_uris: ['http://127.0.0.1:8976/callback'] };
  const members = { client_id: id, client_name: 'Documented', token_endpoint_auth_method: 'none', ...redirects };
  response.writeHead(200, json).end(JSON.stringify({ ...members, ...more }));
}

describe('a document', () => {
  const reader = (parts: Partial<DocumentFetchParts> = {}) =>
    createDocumentFetch({ allowed: ['127.0.0.0/8'], clock: Date.now, ca: pem('ca'), ...parts });

  test.each(['127.0.0.1', 'localhost', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]'])(
    'is not fetched from %s: no connection is made',
    async (host) => {
      const before = connections;
      await expect(reader({ allowed: [] })(urlOf('private', host))).rejects.toThrow('an address that is not public');
      expect(connections).toBe(before);
    },
  );

  test('is fetched with few others at a time, and a host that answers slowly leaves room for the others', async () => {
    const read = reader();
    const held: (() => void)[] = [];
    answer = (response, id) => held.push(() => send(response, id));
    const fetches = Array.from({ length: 300 }, (_, index) =>
      read(urlOf(`slow-${index}`)).then(
        () => 'fetched',
        ({ message }: Error) => message,
      ),
    );
    expect(new Set(await Promise.all(fetches.slice(4)))).toEqual(
      new Set([`https://localhost:${port}: too many documents are being fetched: try again`]),
    );
    await expect.poll(() => held.length).toBe(4);
    answer = send;
    expect((await read(urlOf('other', '127.0.0.1'))).status, 'another host').toBe(200);
    for (const finish of held) finish();
    expect(await Promise.all(fetches.slice(0, 4))).toEqual(Array.from({ length: 4 }, () => 'fetched'));
    expect((await read(urlOf('slow-299'))).status, 'refusals are not kept').toBe(200);
  });

  test('that redirects is not followed', async () => {
    answer = (response) => void response.writeHead(302, { location: urlOf('target') }).end();
    expect((await reader()(urlOf('redirect'))).status).toBe(302);
    expect(requests).toEqual(['/redirect.json']);
  });

  test('that is too long is refused, and the connection ends', async () => {
    let written = 0;
    answer = (response) => {
      response.writeHead(200, json);
      const more = (): void => {
        written += 65_536;
        if (response.writable) response.write(' '.repeat(65_536), more);
      };
      more();
    };
    await expect(reader()(urlOf('endless'))).rejects.toThrow('the answer is too long');
    // Besides what was read, a few buffers of the sockets.
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  test('that never ends is given up', { timeout: 30_000 }, async () => {
    answer = (response) => void response.writeHead(200, json).write('{');
    await expect(reader()(urlOf('slow'))).rejects.toThrow('aborted');
  });

  test('that is asked for all the time is fetched once at a time, and again after a minute, also if it failed', async () => {
    for (const status of [200, 500]) {
      let now = 0;
      const read = reader({ clock: () => now });
      requests.length = 0;
      answer = (response) => void response.writeHead(status).end();
      await Promise.all([read(urlOf('often')), read(urlOf('often')), read(urlOf('often'))]);
      expect(requests).toHaveLength(1);
      for (now = 20_000; now <= 60_000; now += 20_000) expect((await read(urlOf('often'))).status).toBe(status);
      expect(requests).toHaveLength(2);
    }
  });
});

describe('a client', () => {
  const start = (addresses: string) => () => {
    const list = ['127.0.0.1', 'localhost'].map((host) => `"https://${host}:${port}/**"`).join(', ');
    return startFrontDoorWorld({
      frontDoor: `clients: { metadata_documents: [${list}]${addresses} }`,
      ca: pem('ca'),
    });
  };
  const world = startBeforeAll(start(', document_addresses: [127.0.0.0/8]'));
  const closed = startBeforeAll(start(''));
  const statusOf = async (id: string, { issuer } = world): Promise<number> =>
    (await fetch(oauthClient(issuer, id).authorizationUrl(), { redirect: 'manual' })).status;

  test('signs people in, who are asked each time, and gets no refresh token', async () => {
    answer = (response, id) => send(response, id, { grant_types: ['authorization_code', 'refresh_token'] });
    const browser = createBrowser();
    const client = oauthClient(world.issuer, urlOf('allowed'));
    const { body } = await client.token({ browser });
    expect(await world.listTools(body['access_token'])).toBe(200);
    expect(body['refresh_token']).toBeUndefined();
    await client.token({ browser });
    expect(browser.pages).toEqual(['Allow access', 'Allow access']);
    expect(requests).toEqual(['/allowed.json']);
  });

  test('is not fetched from a host that is not listed, whatever the URL looks like', async () => {
    const before = connections;
    for (const id of [
      `https://localhost:${port}@evil.example/x.json`,
      `https://evil.example/https://localhost:${port}/x.json`,
      `https://user@localhost:${port}/x.json`,
      `https://localhost:${port}/../x.json`,
      `https://localhost:${port}/x.json#fragment`,
      `http://localhost:${port}/x.json`,
    ]) {
      expect([id, await statusOf(id)]).toEqual([id, 400]);
    }
    expect(connections).toBe(before);
  });

  test.each(['127.0.0.1', 'localhost'])(
    'is not fetched from %s, although it is listed, without document_addresses',
    async (host) => {
      const before = connections;
      expect(await statusOf(urlOf('private', host), closed)).toBe(400);
      expect(connections).toBe(before);
    },
  );

  test.each<[string, (response: ServerResponse, id: string) => void]>([
    ['redirects', (response) => void response.writeHead(302, { location: urlOf('allowed') }).end()],
    ['is too long', (response, id) => send(response, id, { padding: ' '.repeat(65_536) })],
    ['names another one', (response, id) => send(response, `${id}x`)],
    ['has a secret', (response, id) => send(response, id, { client_secret: 's'.repeat(40) })],
  ])('whose document %s is refused', async (what, answers) => {
    answer = answers;
    const name = encodeURIComponent(what);
    expect(await statusOf(urlOf(name))).toBe(400);
    expect(requests).toEqual([`/${name}.json`]);
  });

  test('has the device grant only if its document lists it, and then needs no redirect URI', async () => {
    const list = `"https://localhost:${port}/**"`;
    const own = await forThisTest(
      startFrontDoorWorld({
        frontDoor: `clients: { registration: { device: true }, metadata_documents: [${list}], document_addresses: [127.0.0.0/8] }`,
        ca: pem('ca'),
      }),
    );
    const ask = async (id: string, { issuer } = own) =>
      (
        await fetch(`${issuer}/device/authorization`, {
          method: 'POST',
          body: new URLSearchParams({ client_id: id, scope: 'read' }),
        })
      ).status;
    const device = { grant_types: ['urn:ietf:params:oauth:grant-type:device_code'], redirect_uris: undefined };
    answer = (response, id) => send(response, id, device);
    expect(await ask(urlOf('device'))).toBe(200);
    answer = send;
    expect(await ask(urlOf('no-device'))).toBe(400);
  });

  describe('authenticates', () => {
    const pair = generateKeyPair('ES256');
    const jwksOf = async () => ({
      keys: [{ ...(await exportJWK((await pair).publicKey)), alg: 'ES256', use: 'sig', kid: '1' }],
    });
    /** The answer to an assertion, sent as if for another host. An authenticated client learns that its code is unknown. */
    async function redeem(client: string, audience = world.issuer, target = '/token'): Promise<string> {
      const assertion = await new SignJWT({ jti: randomUUID() })
        .setProtectedHeader({ alg: 'ES256', kid: '1' })
        .setIssuer(client)
        .setSubject(client)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('1m')
        .sign((await pair).privateKey);
      keepSecret(assertion);
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code: 'x',
        redirect_uri: 'http://127.0.0.1:8976/callback',
        code_verifier: 'v'.repeat(43),
        client_id: client,
        client_assertion: assertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      }).toString();
      return exchangeRaw(
        world.issuer,
        `POST ${target} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n` +
          `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    }

    test('by keys at its own origin alone', async () => {
      const jwks = JSON.stringify(await jwksOf());
      let keysAt = `https://localhost:${port}/keys`;
      answer = (response, url) => {
        if (url.endsWith('/keys')) response.writeHead(200, json).end(jwks);
        else send(response, url, { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: keysAt });
      };
      expect(await redeem(urlOf('keys-of-its-own'))).toContain('invalid_grant');
      requests.length = 0;
      for (const other of [
        `https://127.0.0.1:${port}`,
        `https://localhost:${Number(port) + 1}`,
        'https://169.254.1.1',
      ]) {
        keysAt = `${other}/keys`;
        expect(await redeem(urlOf(`keys-${encodeURIComponent(other)}`))).toContain('invalid_client');
      }
      expect(requests.filter((url) => url.endsWith('/keys'))).toEqual([]);
    });

    test('by assertions for this front door, whatever a request says of its target', async () => {
      const id = urlOf('asserting');
      const jwks = await jwksOf();
      answer = (response) => send(response, id, { token_endpoint_auth_method: 'private_key_jwt', jwks });
      expect(await redeem(id, `${world.issuer}/token`)).toContain('invalid_grant');
      expect(await redeem(id)).toContain('invalid_grant');
      const evil = 'https://evil.example/token';
      expect(await redeem(id, evil)).toContain('invalid_client');
      expect(await redeem(id, evil, evil)).toMatch(/^HTTP\/1\.1 400 /);
    });
  });
});
