/**
 * Attacks by a client of the front door, or by its metadata: redirects that look like allowed ones, weaker PKCE, requests
 * into the operator's network, floods, tokens of others, and more access than was allowed (RFC 9700, OAuth 2.1).
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createAdapter } from '../../src/front-door/adapter.ts';
import { createDocumentFetch } from '../../src/front-door/document-fetch.ts';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import { pem } from '../support/certificates.ts';
import { exchangeRaw } from '../support/raw.ts';
import { keepSecret } from '../support/secrecy.ts';
import { type FrontDoorWorld, startFrontDoorWorld } from '../worlds/front-door.ts';
import { type OAuthClient, oauthClient, register, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

let client: OAuthClient;

const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor: `clients:
    refresh: true
    registration: { redirect_uris: ["http://127.0.0.1:*/**", "http://localhost:*/**", "https://app.example/cb/*"] }`,
  }),
);
beforeAll(async () => {
  client = await registerClient(world.issuer, { grant_types: ['authorization_code', 'refresh_token'] });
});

/** The status of an authorization request: 303 goes on to consent. */
async function statusOf(at: FrontDoorWorld, id: string, uri?: string): Promise<number> {
  return (await fetch(oauthClient(at.issuer, id, uri).authorizationUrl(), { redirect: 'manual' })).status;
}

/** The form that redeems a new code of the client. */
async function redemption(): Promise<Record<string, string>> {
  const { callback, verifier } = await client.authorize();
  expect(callback.searchParams.get('iss')).toBe(world.issuer);
  return {
    grant_type: 'authorization_code',
    code: callback.searchParams.get('code') ?? '',
    redirect_uri: client.redirectUri,
    code_verifier: verifier,
  };
}

/** The form that uses a new refresh token of the client. */
async function refreshing(): Promise<Record<string, string>> {
  const { body } = await client.token();
  return { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
}

// test/front-door/url-pattern.test.ts has the table of URIs.
describe('a redirect URI', () => {
  test('that is refused is named, in the characters of RFC 6749 §5.2, and refuses the whole registration', async () => {
    const uri = 'https://evil.example/"cb\\<ü>';
    const { body } = await register(world.issuer, { redirect_uris: ['https://app.example/cb/1', uri] });
    expect(body).toEqual({
      error: 'invalid_redirect_uri',
      error_description: 'redirect URI https://evil.example/?cb?<?> is not allowed here',
    });
  });

  test.each(['https://app.example/cb/2', 'https://app.example/cb/1?x', 'https://app.example/cb/%31'])(
    '%s that was not registered gets no redirect',
    async (uri) => {
      const web = await registerClient(world.issuer, { redirect_uris: ['https://app.example/cb/1'] });
      const answer = await fetch(oauthClient(world.issuer, web.id, uri).authorizationUrl(), { redirect: 'manual' });
      expect(answer.status).toBe(400);
      expect(answer.headers.get('location')).toBeNull();
    },
  );

  test('on loopback may have another port, and nothing else another', async () => {
    expect(await statusOf(world, client.id, 'http://127.0.0.1:1234/callback')).toBe(303);
    for (const uri of [
      'http://127.0.0.1:1234/other',
      'http://localhost:8976/callback',
      'https://127.0.0.1:8976/callback',
    ]) {
      expect(await statusOf(world, client.id, uri), uri).toBe(400);
    }
  });
});

test.each([
  ['of another site after sign-out', '/sign-out?post_logout_redirect_uri=https://evil.example/'],
  ['of a provider that is not configured', '/callback/evil?state=x&code=y'],
  ['in the path', '//evil.example/authorize'],
])('no redirect goes to an address %s', async (_what, path) => {
  const answer = await fetch(world.issuer + path, { redirect: 'manual' });
  expect(answer.headers.get('location')).toBeNull();
  expect(await answer.text()).not.toContain('evil.example');
});

// in test/spec/front-door.test.ts: no weaker PKCE, another client, another verifier, a second use.
test('a code without its verifier gives no token', async () => {
  const { code_verifier: _, ...without } = await redemption();
  expect((await client.post(without)).body).toMatchObject({ error: 'invalid_grant' });
});

describe('a refresh token', () => {
  test('opens nothing at the gateway', async () => {
    const { body } = await client.token();
    expect(await world.listTools(body['refresh_token'])).toBe(401);
  });

  test('does nothing for another client, and stays usable for its own', async () => {
    const form = await refreshing();
    const other = await registerClient(world.issuer, { grant_types: ['authorization_code', 'refresh_token'] });
    expect((await other.post(form)).body).toMatchObject({ error: 'invalid_grant' });
    expect((await client.post(form)).status).toBe(200);
  });

  test('gives no scope that was not allowed, and no other resource', async () => {
    const refreshed = async (more: Record<string, string>) => client.post({ ...(await refreshing()), ...more });
    expect((await refreshed({ scope: 'read payments' })).body).toMatchObject({ error: 'invalid_scope' });
    expect((await refreshed({ resource: 'https://other.example/' })).body).toMatchObject({ error: 'invalid_target' });
  });
});

describe('a client asks for more', () => {
  test('a code for one resource is not redeemed for another', async () => {
    const { body } = await client.post({ ...(await redemption()), resource: 'https://other.example/mcp' });
    expect(body).toMatchObject({ error: 'invalid_target' });
  });

  test('a scope that the front door does not have is never granted', async () => {
    const { body } = await client.token({ parameters: { scope: 'read admin' } });
    expect(body['scope']).toBe('read');
    const { callback } = await client.authorize({ parameters: { scope: 'admin' } });
    expect(callback.searchParams.get('error')).toBe('invalid_scope');
  });

  test.each([
    ['client_credentials', {}],
    ['password', { username: 'jane', password: 'guess' }],
    ['urn:ietf:params:oauth:grant-type:jwt-bearer', { assertion: 'x' }],
  ])('the grant %s does not exist for it', async (grant, more) => {
    const { status, body } = await client.post({ grant_type: grant, ...more });
    expect(status).toBe(400);
    expect(body['access_token']).toBeUndefined();
  });

  test.each(['token', 'code id_token'])('the response type %s gives nothing', async (type) => {
    const { callback } = await client.authorize({ parameters: { response_type: type, nonce: 'n' } });
    expect(new URLSearchParams(callback.hash.slice(1)).get('access_token')).toBeNull();
    expect(
      callback.searchParams.get('error') ?? new URLSearchParams(callback.hash.slice(1)).get('error'),
    ).not.toBeNull();
  });

  test('no client registers itself as the gateway, or reads and changes registrations', async () => {
    const { body } = await register(world.issuer, { client_id: 'gateway' });
    expect(body['client_id']).not.toBe('gateway');
    expect(body['registration_access_token']).toBeUndefined();
    const { body: own } = await client.token();
    const introspected = await client.post({ token: String(own['access_token']) }, '/introspect');
    expect(introspected.body).toEqual({ active: false });
  });
});

test('the Host of a request changes nothing', async () => {
  const { host } = new URL(world.issuer);
  const head = (name: string): string =>
    `GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: ${name}\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example\r\nConnection: close\r\n\r\n`;
  const body = (answer: string): string => answer.split('\r\n\r\n')[1] ?? '';
  const evil = body(await exchangeRaw(world.issuer, head('evil.example')));
  expect(evil).toContain(`"issuer":"${world.issuer}"`);
  expect(evil).not.toContain('evil.example');
  expect(evil).toBe(body(await exchangeRaw(world.issuer, head(host))));
});

test.each([
  'https://evil.example/token',
  '//evil.example/.well-known/oauth-authorization-server',
  String.raw`/\evil.example/token`,
  '*',
  '',
])('the request target %s is refused before anything of it is believed', async (target) => {
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    const head = `${method} ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    const answer = await exchangeRaw(world.issuer, head);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).not.toContain('evil.example');
  }
});

test.each([{ client_name: ['Agent'] }, { grant_types: 'authorization_code' }, { redirect_uris: [{}] }])(
  'a registration with %j is refused as wrong metadata',
  async (members) => {
    const { status, body } = await register(world.issuer, members);
    expect([status, body['error']]).toEqual([400, expect.stringMatching(/^invalid_(?:client_metadata|redirect_uri)$/)]);
  },
);

test('a flood of registrations ends at 10,000, without loss of the first ones', async () => {
  const adapter = createAdapter({
    store: createMemoryStore(Date.now),
    clock: Date.now,
    registrationMs: 60_000,
    tokenKey: 'a key',
    onRevoked: async () => {},
  })('Client');
  for (let index = 0; index < 10_000; index += 1) {
    await adapter.upsert(`client-${index}`, { client_id: `client-${index}` }, 60);
  }
  const one = (id: string) => adapter.upsert(id, { client_id: id }, 60);
  await expect(one('client-10000')).rejects.toMatchObject({ error: 'temporarily_unavailable' });
  await expect(one('client-0')).resolves.toBeUndefined();
  expect(await adapter.find('client-0')).toEqual({ client_id: 'client-0' });
  await adapter.destroy('client-1');
  await expect(one('client-10000')).resolves.toBeUndefined();
});

describe('a metadata document', () => {
  const requests: string[] = [];
  let answer: (response: ServerResponse, id: string) => void = () => {};
  const server = createServer({ cert: pem('server'), key: pem('server-key') }, (request, response) => {
    requests.push(request.url ?? '');
    answer(response, `https://${request.headers.host}${request.url}`);
  });
  let connections = 0;
  let port = 0;
  let closed: FrontDoorWorld;
  let open: FrontDoorWorld;

  beforeAll(async () => {
    server.on('connection', () => (connections += 1));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    const list = ['127.0.0.1', 'localhost', '[::ffff:7f00:1]'].map((host) => `"https://${host}:${port}/**"`).join(', ');
    closed = await startFrontDoorWorld({ frontDoor: `clients: { metadata_documents: [${list}] }`, ca: pem('ca') });
    open = await startFrontDoorWorld({
      frontDoor: `clients: { metadata_documents: [${list}], document_addresses: [127.0.0.0/8] }`,
      ca: pem('ca'),
    });
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await Promise.all([closed.close(), open.close()]);
  });
  afterEach(() => {
    requests.splice(0);
    answer = () => {};
  });

  const send = (response: ServerResponse, id: string, more: object = {}): void => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        client_id: id,
        client_name: 'Documented',
        redirect_uris: ['http://127.0.0.1:8976/callback'],
        token_endpoint_auth_method: 'none',
        ...more,
      }),
    );
  };
  test('is fetched where the operator allows its address', async () => {
    answer = send;
    expect(await statusOf(open, `https://localhost:${port}/allowed.json`)).toBe(303);
    expect(requests).toEqual(['/allowed.json']);
    const { body } = await oauthClient(open.issuer, `https://localhost:${port}/allowed.json`).token();
    expect(body['access_token']).toEqual(expect.any(String));
  });

  describe('authenticates its client', () => {
    const made = generateKeyPair('ES256');
    /** A document's own keys, and a form that a client signs for `audience`. */
    const jwksOf = async () => ({
      keys: [{ ...(await exportJWK((await made).publicKey)), alg: 'ES256', use: 'sig', kid: '1' }],
    });
    const formOf = async (client: string, audience: string): Promise<string> => {
      const assertion = await new SignJWT({ jti: randomUUID() })
        .setProtectedHeader({ alg: 'ES256', kid: '1' })
        .setIssuer(client)
        .setSubject(client)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime('1m')
        .sign((await made).privateKey);
      keepSecret(assertion);
      return new URLSearchParams({
        grant_type: 'authorization_code',
        code: 'x',
        redirect_uri: 'http://127.0.0.1:8976/callback',
        code_verifier: 'v'.repeat(43),
        client_id: client,
        client_assertion: assertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      }).toString();
    };
    /** The answer to such a form, sent as if for another host. An authenticated client learns that its code is unknown. */
    const redeem = async (client: string, audience = open.issuer, target = '/token'): Promise<string> => {
      const body = await formOf(client, audience);
      return exchangeRaw(
        open.issuer,
        `POST ${target} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n` +
          `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    };

    test('by keys at its own origin alone', async () => {
      const id = (name: string): string => `https://localhost:${port}/${name}.json`;
      const jwks = JSON.stringify(await jwksOf());
      let keysAt = `https://localhost:${port}/keys`;
      answer = (response, url) => {
        if (url.endsWith('/keys')) response.writeHead(200, { 'content-type': 'application/json' }).end(jwks);
        else send(response, url, { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: keysAt });
      };
      expect(await redeem(id('keys-of-its-own'))).toContain('invalid_grant');
      requests.splice(0);
      for (const other of [
        `https://127.0.0.1:${port}/keys`,
        `https://localhost:${port + 1}/keys`,
        'https://169.254.1.1/',
      ]) {
        keysAt = other;
        expect(await redeem(id(`keys-${encodeURIComponent(other)}`))).toContain('invalid_client');
      }
      expect(requests.filter((url) => url.endsWith('/keys'))).toEqual([]);
    });

    test('by assertions for this front door, whatever a request says of its target', async () => {
      const id = `https://localhost:${port}/asserting.json`;
      const jwks = await jwksOf();
      answer = (response) => send(response, id, { token_endpoint_auth_method: 'private_key_jwt', jwks });
      expect(await redeem(id, `${open.issuer}/token`)).toContain('invalid_grant');
      expect(await redeem(id)).toContain('invalid_grant');
      const evil = 'https://evil.example/token';
      expect(await redeem(id, evil)).toContain('invalid_client');
      expect(await redeem(id, evil, evil)).toMatch(/^HTTP\/1\.1 400 /);
    });
  });

  test.each(['127.0.0.1', 'localhost', '[::ffff:7f00:1]', '[::ffff:127.0.0.1]'])(
    'is not fetched from %s: no connection is made',
    async (host) => {
      answer = send;
      const before = connections;
      expect(await statusOf(closed, `https://${host}:${port}/private.json`)).toBe(400);
      expect(connections).toBe(before);
    },
  );

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
      expect(await statusOf(open, id), id).toBe(400);
    }
    expect(connections).toBe(before);
  });

  test('is fetched with few others at a time, and a host that answers slowly leaves room for the others', async () => {
    const fetchDocument = createDocumentFetch({ allowed: ['127.0.0.0/8'], clock: Date.now, ca: pem('ca') });
    const held: (() => void)[] = [];
    answer = (response, id) => held.push(() => send(response, id));
    const fetches = Array.from({ length: 300 }, (_, index) =>
      fetchDocument(`https://localhost:${port}/slow-${index}.json`).then(
        () => 'fetched',
        (error: unknown) => (error instanceof Error ? error.message : ''),
      ),
    );
    const refused = await Promise.all(fetches.slice(4));
    expect(new Set(refused)).toEqual(
      new Set([`https://localhost:${port}: too many documents are being fetched: try again`]),
    );
    await expect.poll(() => held.length).toBe(4);
    answer = send;
    const other = await fetchDocument(`https://127.0.0.1:${port}/other.json`);
    expect(other.status, 'another host').toBe(200);
    for (const finish of held) finish();
    expect(await Promise.all(fetches.slice(0, 4))).toEqual(Array.from({ length: 4 }, () => 'fetched'));
    expect((await fetchDocument(`https://localhost:${port}/slow-299.json`)).status, 'refusals are not kept').toBe(200);
  });

  test('that redirects is not followed', async () => {
    answer = (response) => void response.writeHead(302, { location: `https://localhost:${port}/target.json` }).end();
    expect(await statusOf(open, `https://localhost:${port}/redirect.json`)).toBe(400);
    expect(requests).toEqual(['/redirect.json']);
  });

  test('that is too long is refused, and the connection ends', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        written += 65_536;
        if (response.writable) response.write(' '.repeat(65_536), more);
      };
      more();
    };
    let written = 0;
    expect(await statusOf(open, `https://localhost:${port}/endless.json`)).toBe(400);
    // Besides what was read, a few buffers of the sockets.
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  test('that names another client, or has a secret, is refused', async () => {
    answer = (response, id) => send(response, `${id}x`);
    expect(await statusOf(open, `https://localhost:${port}/other.json`)).toBe(400);
    answer = (response, id) => send(response, id, { client_secret: 's'.repeat(40) });
    expect(await statusOf(open, `https://localhost:${port}/secret.json`)).toBe(400);
  });

  test('that failed is not fetched again for each request', async () => {
    answer = (response) => void response.writeHead(500).end();
    expect(await statusOf(open, `https://localhost:${port}/failing.json`)).toBe(400);
    expect(await statusOf(open, `https://localhost:${port}/failing.json`)).toBe(400);
    expect(requests).toEqual(['/failing.json']);
  });

  test('that is asked for all the time is fetched once at a time, and again after a minute', async () => {
    let now = 0;
    const read = createDocumentFetch({ allowed: ['127.0.0.0/8'], clock: () => now, ca: pem('ca') });
    const url = `https://localhost:${port}/often.json`;
    answer = send;
    await Promise.all([read(url), read(url), read(url)]);
    expect(requests).toHaveLength(1);
    for (now = 20_000; now <= 60_000; now += 20_000) {
      expect((await read(url)).status).toBe(200);
    }
    expect(requests).toHaveLength(2);
  });

  test('that never ends is given up', { timeout: 30_000 }, async () => {
    answer = (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    expect(await statusOf(open, `https://localhost:${port}/slow.json`)).toBe(400);
  });
});
