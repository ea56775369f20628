import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { metadataUrl, startService, type Service } from './service.ts';
import { normalized, publicUrl, startWorld } from './world.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const wellKnown = '/.well-known/oauth-protected-resource';

async function metadata(path = `${wellKnown}/mcp`): Promise<Record<string, unknown>> {
  const { status, text } = await service.send(path);
  expect(status).toBe(200);
  return JSON.parse(text) as Record<string, unknown>;
}

describe('the document', () => {
  test('§2.1/resource — the URL that clients call, from public_url and never from Host', async () => {
    expect(await metadata()).toMatchObject({ resource: `${publicUrl}/mcp` });
    const raw = await service.sendRaw(`GET ${wellKnown}/mcp HTTP/1.1`, 'Host: localhost:1234');
    expect(raw).toContain(`"resource":"${publicUrl}/mcp"`);
    expect(raw).not.toContain('localhost');
  });

  test('§2.1/resource_name — as configured', async () => {
    expect(await metadata()).toMatchObject({ resource_name: 'Demo tools' });
  });

  test('§2.1/scopes_supported — an array of strings, as configured', async () => {
    expect(await metadata()).toMatchObject({ scopes_supported: ['read'] });
  });

  test('§2.1/authorization_servers — the trusted issuers, byte for byte', async () => {
    expect(await metadata()).toMatchObject({ authorization_servers: [service.issuer.url] });
  });

  test('§4.1/Response — JSON of §2.1, without null or empty members', async () => {
    const { headers } = await service.send(`${wellKnown}/mcp`);
    expect(headers.get('content-type')).toBe('application/json');
    expect(await metadata()).toEqual({
      resource: `${publicUrl}/mcp`,
      resource_name: 'Demo tools',
      authorization_servers: [service.issuer.url],
      scopes_supported: ['read'],
      bearer_methods_supported: ['header'],
    });
  });
});

describe('where it is', () => {
  test('§4.1/Path — where the 401 says', async () => {
    const { challenge } = await service.message(undefined, 'tools/list');
    const [, advertised] = /resource_metadata="([^"]+)"/.exec(challenge ?? '') ?? [];
    expect(advertised).toBe(metadataUrl);
    expect(await metadata(new URL(advertised ?? '').pathname)).toMatchObject({ resource: `${publicUrl}/mcp` });
  });

  test.for([
    [`${wellKnown}/mcp`, 'the path of the resource'],
    [`${wellKnown}/mcp/`, 'with a slash'],
    [`${wellKnown}/mcp?v=1`, 'with a query'],
    [wellKnown, 'bare: there is exactly one resource'],
    [`${wellKnown}/`, 'bare, with a slash'],
  ])('§4.1/Path — %s, %s', async ([path]) => {
    expect(await metadata(path)).toMatchObject({ resource: `${publicUrl}/mcp` });
  });

  test.for([
    [`${wellKnown}/demo/data`, 'a route that is no resource'],
    [`${wellKnown}/mcp/x`, 'below a resource'],
    [`${wellKnown}/mcpx`, 'a longer segment'],
    [`${wellKnown}/mcp//`, 'an empty segment'],
    [`${wellKnown}/../oauth-protected-resource/mcp`, 'a dot segment'],
  ])('§4.1/Path — not at %s, %s', async ([path]) => {
    const raw = await service.sendRaw(`GET ${path} HTTP/1.1`, 'Host: gateway.test');
    expect(raw).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(raw).not.toContain('authorization_servers');
  });

  test('§4.1/Path — no bare document where two resources could be meant', async () => {
    const world = await startWorld({
      yaml: (issuer, upstream) => `
authorization_servers: { main: { issuer: "${issuer}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: a, path: /a, protocol: mcp, upstream: { url: "${upstream}/a" } }
  - { name: b, path: /b, protocol: mcp, upstream: { url: "${upstream}/b" } }
`,
    });
    const paths = [wellKnown, `${wellKnown}/`, `${wellKnown}/a`, `${wellKnown}/b`];
    const answers = await Promise.all(paths.map((path) => world.send(path)));
    await world.close();
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 200, 200]);
    expect(answers.slice(2).map(({ text }) => (JSON.parse(text) as { resource: string }).resource)).toEqual([
      `${publicUrl}/a`,
      `${publicUrl}/b`,
    ]);
  });
});

describe('how it is asked for', () => {
  test('§4.1/Method — GET, byte for byte', async () => {
    expect(normalized(await service.sendRaw(`GET ${wellKnown}/mcp HTTP/1.1`, 'Host: gateway.test'))).toBe(
      `HTTP/1.1 200 OK
access-control-allow-origin: *
access-control-allow-methods: GET, HEAD, OPTIONS
access-control-allow-headers: *
access-control-max-age: 86400
content-type: application/json
cache-control: public, max-age=300
content-length: ${(await service.send(`${wellKnown}/mcp`)).text.length}
x-request-id: …
date: …
connection: close

${(await service.send(`${wellKnown}/mcp`)).text}`,
    );
  });

  test('§4.1/Method — HEAD is GET without the body', async () => {
    const [head, get] = await Promise.all(
      ['HEAD', 'GET'].map((method) => service.sendRaw(`${method} ${wellKnown}/mcp HTTP/1.1`, 'Host: gateway.test')),
    );
    expect(normalized(head ?? '')).toBe(normalized(get ?? '').replace(/\n\n[^]*$/, '\n\n'));
  });

  test('§4.1/Method — OPTIONS answers the preflight of any page', async () => {
    const { status, headers, text } = await service.send(`${wellKnown}/mcp`, {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'GET', 'access-control-request-headers': 'mcp-protocol-version' },
    });
    expect([status, text]).toEqual([204, '']);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-methods')).toContain('GET');
    expect(headers.get('access-control-allow-headers')).toBe('*');
  });

  test.for(['POST', 'PUT', 'DELETE', 'PATCH'])(
    '§4.1/Method — %s is refused, and says what is allowed',
    async (method) => {
      const { status, headers } = await service.send(`${wellKnown}/mcp`, { method });
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    },
  );

  test('§4.1/Request — no token, no payload: whoever asks gets the same', async () => {
    const plain = await service.send(`${wellKnown}/mcp`);
    const withToken = await service.send(`${wellKnown}/mcp`, { token: 'expired' });
    expect(withToken).toMatchObject({ status: 200, text: plain.text });
    expect(service.upstream.seen).toEqual([]);
  });
});
