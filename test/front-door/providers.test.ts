/** Several providers, tokens as JWTs, claims of the userinfo endpoint, and clients by metadata document. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBrowser } from '../../demo/browser.ts';
import { certificate } from '../support/certificates.ts';
import { startIdentityProvider } from '../support/identity-provider.ts';
import { type FrontDoorWorld, startFrontDoorWorld } from '../worlds/front-door.ts';
import { oauthClient, registerClient } from '../worlds/oauth-client.ts';
import { startBeforeAll } from '../support/start-before.ts';

describe('tokens as JWTs', () => {
  let world: FrontDoorWorld;
  beforeAll(async () => {
    world = await startFrontDoorWorld({
      frontDoor: `clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }
  tokens: { format: jwt, lifetime: 5m }`,
      provider: { idTokenClaims: [], userInfoClaims: ['roles', 'tid'] },
      top: 'log: { claims: [tenant, /role, absent] }',
      policy: 'scope: read\nclaims: { role: trader, tenant: acme }\ntools: { "list_*": {} }\n',
    });
  });
  afterAll(() => world.close());

  test('carry the claims of the userinfo endpoint, and the gateway verifies them by the keys of the front door', async () => {
    world.provider.person = { sub: '1', claims: { roles: ['trader'], tid: 'acme' } };
    const { body } = await (await registerClient(world.issuer)).token();
    const [header = '', payload = ''] = String(body['access_token']).split('.');
    const parse = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(parse(header)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(parse(payload)).toMatchObject({
      iss: world.issuer,
      aud: world.mcpUrl.href,
      scope: 'read',
      role: 'trader',
      tenant: 'acme',
    });
    expect([body['expires_in'], await world.listTools(body['access_token'])]).toEqual([300, 200]);
    // both logs say who it was, in the claims that the operator lists.
    const claims = { tenant: 'acme', '/role': 'trader' };
    expect(await world.line({ msg: 'decision', allow: true })).toMatchObject({ claims });
    expect(world.observed.join('\n')).toContain(JSON.stringify(claims));
    world.provider.person = { sub: '2', claims: { roles: ['auditor'], tid: 'acme' } };
    const { body: other } = await (await registerClient(world.issuer)).token();
    expect(await world.listTools(other['access_token'])).toBe(403);
  });
});

describe('several providers', () => {
  let world: FrontDoorWorld;
  const partners = startBeforeAll(() => startIdentityProvider({ redirectUri: 'http://127.0.0.1:1/unused' }));
  beforeAll(async () => {
    world = await startFrontDoorWorld({
      providerLines: `      domains: [acme.com]
    partners: { issuer: ${partners.issuer}, client_id: ${partners.clientId}, client_secret: ${partners.clientSecret}, domains: [partners.example] }`,
    });
    world.provider.person = { sub: '1', claims: { email: 'jane@acme.com' } };
  });
  afterAll(() => world.close());

  test('the address decides which one, and single sign-on asks for it no more', async () => {
    const browser = createBrowser();
    const client = await registerClient(world.issuer);
    const { body } = await client.token({ browser, user: 'jane@x.acme.com' });
    expect(await world.listTools(body['access_token'])).toBe(200);
    expect(world.provider.authorizations.at(-1)?.get('login_hint')).toBe('jane@x.acme.com');
    const shown = world.provider.authorizations.length;
    await client.token({ browser });
    expect(world.provider.authorizations.length).toBe(shown);
    await expect(client.token({ user: 'jane@partners.example' })).rejects.toThrow(/redirect_uri/);
  });

  test('an address of no provider is asked for again', async () => {
    const client = await registerClient(world.issuer);
    await expect(client.authorize({ user: 'jane@evilacme.com' })).rejects.toThrow('No sign-in is configured');
  });
});

describe('clients by metadata document', () => {
  let world: FrontDoorWorld;
  let server: Server;
  let base: string;
  let answers: number;
  let document: (id: string) => object;

  beforeAll(async () => {
    server = createServer(
      { cert: readFileSync(certificate('server')), key: readFileSync(certificate('server-key')) },
      (request, response) => {
        answers += 1;
        const id = `${base}${request.url}`;
        if (request.url === '/moved') return void response.writeHead(302, { location: '/client' }).end();
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document(id)));
      },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    answers = 0;
    document = (id) => ({
      client_id: id,
      client_name: 'Claude',
      redirect_uris: ['http://127.0.0.1:8976/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    });
    world = await startFrontDoorWorld({
      frontDoor: `clients: { metadata_documents: ["${base}/**"], document_addresses: [127.0.0.0/8] }`,
      ca: readFileSync(certificate('ca'), 'utf8'),
    });
    world.provider.person = { sub: '1' };
  });
  afterAll(async () => {
    await world.close();
    server.close();
  });

  test('sign people in, who see that the name is not verified, and are asked each time', async () => {
    const browser = createBrowser();
    const client = oauthClient(world.issuer, `${base}/client`);
    const { body } = await client.token({ browser });
    expect(await world.listTools(body['access_token'])).toBe(200);
    expect(body['refresh_token']).toBeUndefined();
    await client.token({ browser });
    expect(browser.pages).toEqual(['Allow access', 'Allow access']);
  });

  test.each([
    ['not on the list', 'https://evil.example/client'],
    ['behind a redirect', 'BASE/moved'],
    ['that names another client', 'BASE/other'],
  ])('are refused: a document %s', async (_title, id) => {
    const before = document;
    if (id.endsWith('other')) document = () => before(`${base}/client`);
    const client = oauthClient(world.issuer, id.replace('BASE', base));
    await expect(client.authorize()).rejects.toThrow(/client|neither/);
    const asked = answers;
    await expect(client.authorize()).rejects.toThrow(/client|neither/);
    expect(answers).toBe(asked);
    document = before;
  });

  test('are not fetched from a private address that the operator does not allow', async () => {
    const strict = await startFrontDoorWorld({
      frontDoor: `clients: { metadata_documents: ["${base}/**", "https://localhost:1/**"] }`,
      ca: readFileSync(certificate('ca'), 'utf8'),
    });
    const asked = answers;
    await expect(oauthClient(strict.issuer, `${base}/client`).authorize()).rejects.toThrow(/client/);
    await expect(oauthClient(strict.issuer, 'https://localhost:1/client').authorize()).rejects.toThrow(/client/);
    expect(answers).toBe(asked);
    await strict.close();
  });
});
