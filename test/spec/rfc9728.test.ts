import { expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { publicUrl, startWorld, type World } from '../worlds/gateway.ts';

const at = (path: string, resource: string) => ({
  routes: [`name: tools, path: "${path}", protocol: mcp, resource: { ${resource} }, upstream: { url: "UPSTREAM/mcp" }`],
});

const everything =
  'name: "Tools ü", scopes_supported: [read, write], documentation: "https://d.example/", policy_uri: "https://p.example/p", tos_uri: "https://t.example/t"';

/** A resource at the root, whose metadata has nothing after the well-known path. */
const root = startBeforeAll(() => startWorld(at('/', 'name: Tools')));
/** One below it, with every field that a route may set. */
const path = startBeforeAll(() => startWorld(at('/deep/mcp', everything)));

const wellKnown = '/.well-known/oauth-protected-resource';

async function metadata(world: World, at: string): Promise<Record<string, unknown>> {
  return JSON.parse((await world.send(at)).text) as Record<string, unknown>;
}

test('R-3, R-4, R-5, R-6, RFC 9728 §2: writes the registered members and leaves out those without a value', async () => {
  expect(await metadata(path, `${wellKnown}/deep/mcp`)).toEqual({
    resource: `${publicUrl}/deep/mcp`,
    resource_name: 'Tools ü',
    authorization_servers: [path.issuer.url],
    scopes_supported: ['read', 'write'],
    bearer_methods_supported: ['header'],
    resource_documentation: 'https://d.example/',
    resource_policy_uri: 'https://p.example/p',
    resource_tos_uri: 'https://t.example/t',
  });
  expect(Object.keys(await metadata(root, wellKnown)).toSorted()).toEqual([
    'authorization_servers',
    'bearer_methods_supported',
    'resource',
    'resource_name',
  ]);
});

test('R-7, RFC 9728 §3.1: serves the document with the well-known path inserted and appended', async () => {
  expect((await path.send(`${wellKnown}/deep/mcp`)).status).toBe(200);
  expect((await path.send(`/deep/mcp${wellKnown}`)).status).toBe(200);
});

test.for([
  ['/deep/mcp', () => path],
  ['/', () => root],
] as const)(
  'R-2, RFC 9728 §3.3: names the resource from which the URL of the metadata is made: %s',
  async ([at, world]) => {
    const { challenge } = await world().send(at, { method: 'POST' });
    const [, url] = /resource_metadata="([^"]+)"/.exec(challenge ?? '') ?? [];
    const { resource } = await metadata(world(), new URL(url ?? '').pathname);
    const { origin, pathname } = new URL(String(resource));
    expect(url).toBe(`${origin}${wellKnown}${pathname === '/' ? '' : pathname}`);
  },
);

test.for([
  ['/deep/mcp', () => path],
  ['/', () => root],
] as const)(
  'R-36, RFC 9728 §7.4, RFC 8707 §2: accepts a token for the resource as advertised: %s',
  async ([at, world]) => {
    const { resource } = await metadata(world(), wellKnown);
    const token = await world().issuer.sign({ aud: resource });
    const headers = { 'content-type': 'application/json' };
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    expect(await world().send(at, { method: 'POST', token, headers, body })).toMatchObject({ status: 200 });
  },
);

test('R-20, RFC 9728 §5.1: names the metadata by an absolute URL on the public origin', async () => {
  const raw = await path.sendRaw('POST /deep/mcp HTTP/1.1', 'Host: localhost:1234', 'X-Forwarded-Host: evil.example');
  expect(raw).toContain(`resource_metadata="${publicUrl}${wellKnown}/deep/mcp"`);
  expect(raw).not.toMatch(/evil|localhost/);
});
