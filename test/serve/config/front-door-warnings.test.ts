import { expect, test } from 'vitest';
import { warningsIn } from './folder.ts';

interface Settings {
  readonly issuer?: string;
  readonly scopes?: string;
  readonly policy?: string;
  readonly routes?: string;
  readonly more?: string;
}

/** The warnings of a gateway with a front door that knows `read`. */
async function warnings(settings: Settings): Promise<readonly string[]> {
  const { issuer = 'http://127.0.0.1:8090', scopes = '{ read: { title: Read } }', policy = 'scope: read\n' } = settings;
  const yaml = `public_url: http://127.0.0.1:8080
authorization_servers:
  main: { issuer: http://127.0.0.1:9000, jwt: { algorithms: [RS256] } }
front_door:
  issuer: ${issuer}
  identity_providers: { corporate: { issuer: http://127.0.0.1:9100, client_id: a, client_secret: s3cr3t } }
  scopes: ${scopes}
  clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }
${settings.more ?? ''}
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    resource: { name: Tools, scopes_supported: [read] }
    policy: tools
    authorization_servers: [front_door]
    upstream: { url: http://127.0.0.1:3001/mcp }
${settings.routes ?? ''}`;
  return warningsIn({ yaml, files: { 'policies/tools.yaml': policy } });
}

const writing = 'scope: read\ntools: { pay: { scope: write } }\n';

test('has no warning for a front door with every scope of the policy', async () => {
  expect(await warnings({})).toEqual([]);
  expect(await warnings({ policy: writing, scopes: '{ read: { title: R }, write: { title: W } }' })).toEqual([]);
});

test('warns of a scope of the policy that the front door lacks', async () => {
  expect(await warnings({ policy: writing })).toEqual([
    'gateway.yaml:7:3: front_door.scopes: lacks write, which policy tools of route tools asks for: add it, or no caller can get it',
  ]);
  expect(await warnings({ policy: 'scope: read pay\ntools: { a: { scope: write } }\n' })).toContain(
    'gateway.yaml:7:3: front_door.scopes: lacks pay write, which policy tools of route tools asks for: add them, or no caller can get them',
  );
});

test('has no warning for a scope that another one of the front door implies', async () => {
  const scopes = '{ read: { title: R }, admin: { title: A } }';
  expect(await warnings({ policy: writing, scopes, more: 'scopes: { admin: [write] }' })).toEqual([]);
});

test('has no warning for a scope that another server of the route may grant', async () => {
  const other = `  - name: other
    path: /other
    protocol: mcp
    resource: { name: Other, scopes_supported: [read] }
    policy: tools
    authorization_servers: [front_door, main]
    upstream: { url: http://127.0.0.1:3001/mcp }
`;
  expect(await warnings({ policy: writing, routes: other })).toHaveLength(1);
});

const signin = (lines: string): string =>
  `  - { name: signin, path: /signin, ${lines}, upstream: { url: "http://127.0.0.1:8090/signin" } }\n`;

test('warns of an issuer that is public_url itself', async () => {
  expect(await warnings({ issuer: 'http://127.0.0.1:8080' })).toEqual([
    'gateway.yaml:5:11: front_door.issuer: is public_url, where clients reach the gateway: give it a host name of its own, ' +
      'or a path, unless the proxy in front of the gateway leads its paths to the front door',
  ]);
});

test.each([
  ['no route', ''],
  ['a route that is not public', signin('audience: a, authorization_servers: [main]')],
])('warns of an issuer at a path with %s', async (_title, routes) => {
  const issuer = 'http://127.0.0.1:8080/signin';
  expect(await warnings({ issuer, routes })).toEqual([
    'gateway.yaml:5:11: front_door.issuer: is a path of public_url, and no public route has it: ' +
      "add { name: signin, path: /signin, public: true, upstream: { url: 'http://127.0.0.1:8090/signin' } } to routes, " +
      'unless the proxy in front of the gateway leads there',
  ]);
});

test('has no warning for an issuer at a path with its route', async () => {
  expect(await warnings({ issuer: 'http://127.0.0.1:8080/signin', routes: signin('public: true') })).toEqual([]);
});

test('warns of workloads of any owner, and of an issuer whose keys can be replaced', async () => {
  const more = (subject: string, issuer = 'https://gitlab.com') =>
    `  workloads: { w: { issuer: "${issuer}", subjects: ["${subject}"], scopes: [read] } }`;
  for (const open of ['**', 'repo:*/api:**', '*:x', 'repo:acme*/api:**', 'repo:acme**', 'project_path:acme*/x:**'])
    expect(await warnings({ more: more(open) })).toEqual([
      expect.stringContaining(
        `front_door.workloads.w.subjects[0]: "${open}" leaves the owner open, and covers workloads of others`,
      ),
    ]);
  for (const named of ['repo:acme/*:**', 'repo:acme@1/*@*:**', 'system:serviceaccount:agents:*', 'job-*'])
    expect(await warnings({ more: more(named) })).toEqual([]);
  expect(await warnings({ more: more('a', 'http://cluster.internal') })).toEqual([
    expect.stringContaining('front_door.workloads.w.issuer: "http://cluster.internal" is http'),
  ]);
});
