import { describe, expect, test } from 'vitest';
import { casesOf } from './edits.ts';
import { loaded, refusals } from './folder.ts';

/** A front door with these settings of one issuer of assertions, in line 13. */
function assertionsOf(settings: string): string {
  return `public_url: https://gateway.example
front_door:
  issuer: https://signin.example
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: s3cr3t }
  clients:
    registered:
      desk-app: { client_secret: s3cr3t-2, redirect_uris: ["http://127.0.0.1:*/callback"] }
      open-app: { redirect_uris: ["http://127.0.0.1:*/callback"] }
  scopes: { read: { title: Read }, payments: { title: Pay } }
  assertions:
    # Okta
    acme: { issuer: https://acme.example, ${settings} }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: http://127.0.0.1:3001 } }
`;
}

describe('front_door.assertions', () => {
  test('may name what is defined', async () => {
    const yaml = assertionsOf('clients: [desk-app], scopes: [read], provider: corporate');
    expect(await refusals({ yaml })).toEqual([]);
  });

  test.each(
    casesOf(`
clients: [desk-app, laptop], scopes: [read]
  clients[1]: "laptop" is not in front_door.clients.registered; it has desk-app, open-app
clients: [desk-ap], scopes: [read]
  clients[0]: "desk-ap" is not in front_door.clients.registered; did you mean desk-app?
clients: [desk-app, open-app], scopes: [read]
  clients[1]: "open-app" is a public client; set front_door.clients.registered.open-app.client_secret
clients: [desk-app], scopes: [read, admin] → scopes[1]: "admin" is not in front_door.scopes; it has read, payments
clients: [desk-app], scopes: [read], provider: google
  provider: "google" is not in front_door.identity_providers; it has corporate
`),
  )('refuses %s', async (settings, problems) => {
    const lines = await refusals({ yaml: assertionsOf(settings) });
    const place = /^gateway.yaml:13:\d+: front_door\.assertions\.acme\./;
    expect(lines.map((line) => line.replace(place, ''))).toEqual(problems);
  });

  test('refuses a client where none is registered', async () => {
    const yaml = assertionsOf('clients: [laptop], scopes: [read]').replace(/ {2}clients:\n.*\n.*\n.*\n/, '');
    expect(await refusals({ yaml })).toEqual([
      expect.stringContaining('"laptop" is not in front_door.clients.registered; it has no entry'),
    ]);
  });
});

describe('front_door.clients', () => {
  /** A front door at which a client may register with this redirect URI. */
  const registration = (pattern: string): string => `public_url: https://gateway.example
front_door:
  issuer: https://signin.example
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: s3cr3t }
  clients: { registration: { redirect_uris: ["${pattern}"] } }
  scopes: { read: { title: Read } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: http://127.0.0.1:3001 } }
`;
  const env = { REDIRECT: '*://evil.example/cb' };

  test.each(['*://evil.example/cb', '${env:REDIRECT}', 'ht*s://evil.example/cb'])(
    'refuses a wildcard in the scheme: %s',
    async (pattern) => {
      const lines = await refusals({ yaml: registration(pattern), env });
      expect(lines).toEqual([expect.stringMatching(/^gateway\.yaml:6:\d+: .*redirect_uris\[0\].*begin with a scheme/)]);
    },
  );

  test.each([
    ['known:claud', '"known:claud" is not a known client; did you mean known:claude?'],
    ['known:teapot', '"known:teapot" is not a known client; they are known:claude, known:claude-code, '],
  ])('refuses %s', async (pattern, problem) => {
    const lines = await refusals({ yaml: registration(pattern) });
    expect(lines).toEqual([expect.stringMatching(/^gateway\.yaml:6:\d+: .*redirect_uris\[0\]: /)]);
    expect(lines[0]).toContain(problem);
  });

  test('reads the name of a known client as its patterns, and leaves the port of loopback open', async () => {
    const load = async (pattern: string) =>
      (await loaded({ yaml: registration(pattern) })).frontDoor?.clients.registration;
    expect(await load('known:claude')).toMatchObject({
      redirectUris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
      known: ['claude'],
    });
    for (const [written, read] of [
      ['http://localhost:8787/callback', 'http://localhost:*/callback'],
      ['http://127.0.0.1/callback', 'http://127.0.0.1:*/callback'],
      ['http://[::1]:*/**', 'http://[::1]:*/**'],
      ['https://localhost.example:8443/callback', 'https://localhost.example:8443/callback'],
      // Six characters before the name of a client, as `known:` has.
      ['abc://claude', 'abc://claude'],
    ] as const) {
      expect(await load(written)).toMatchObject({ redirectUris: [read], known: [] });
    }
  });
});

describe('front_door.clients.refresh', () => {
  const withRefresh = (refresh: string): string => `public_url: https://gateway.example
front_door:
  issuer: https://signin.example
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: s3cr3t }
  clients: { refresh: ${refresh} }
  scopes: { read: { title: Read } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: http://127.0.0.1:3001 } }
`;

  test.each([
    ['false', false, 0],
    ['true', true, 0],
    ['{ grace: 0s }', true, 0],
    ['{ grace: 60s }', true, 60_000],
  ])('reads %s', async (text, refresh, refreshGraceMs) => {
    const { frontDoor } = await loaded({ yaml: withRefresh(text) });
    expect(frontDoor?.clients).toMatchObject({ refresh, refreshGraceMs });
  });

  test.each([
    ['{ grace: 61s }', 'front_door.clients.refresh.grace: "61s" is too long: at most 60s'],
    ['{}', 'missing key: grace'],
    ['10s', 'front_door.clients.refresh: '],
  ])('refuses %s', async (text, message) => {
    expect((await refusals({ yaml: withRefresh(text) })).join()).toContain(message);
  });
});

describe('front_door.clients.registered', () => {
  /** A front door with this client, in line 8. */
  const withClient = (settings: string): string => `public_url: https://gateway.example
front_door:
  issuer: https://signin.example
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: s3cr3t }
  clients:
    registered:
      job: { ${settings} }
  scopes: { read: { title: Read }, payments: { title: Pay, max_age: 5m } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: http://127.0.0.1:3001 } }
`;
  const own = 'grants: [client_credentials], scopes: [read]';
  const keys = 'client_auth: private_key_jwt, jwks_uri: http://keys:8080/jwks';
  const code = 'redirect_uris: [https://app.example/callback]';

  test.each([
    [code, { grants: ['authorization_code'], clientAuth: 'none' }],
    [`${code}, client_secret: s3cr3t-2`, { grants: ['authorization_code'], clientAuth: 'client_secret_basic' }],
    [`${code}, refresh: true`, { grants: ['authorization_code', 'refresh_token'] }],
    [`${code}, grants: [authorization_code, refresh_token], refresh: true`, { clientAuth: 'none' }],
    [`${own}, client_secret: s3cr3t-2, client_auth: client_secret_post`, { clientAuth: 'client_secret_post' }],
    ['grants: [device_code]', { grants: ['device_code'], clientAuth: 'none', redirectUris: [] }],
    [
      `${own}, ${keys}, claims: { role: reporter, teams: [a, 2] }`,
      {
        grants: ['client_credentials'],
        jwksUri: 'http://keys:8080/jwks',
        scopes: ['read'],
        claims: { role: 'reporter', teams: ['a', 2] },
        redirectUris: [],
      },
    ],
  ])('reads %s', async (settings, expected) => {
    const { frontDoor } = await loaded({ yaml: withClient(settings) });
    const { grants, ...client } = frontDoor?.clients.registered.get('job') ?? {};
    expect({ ...client, grants: [...(grants ?? [])] }).toMatchObject(expected);
  });

  test.each(
    casesOf(`
grants: [authorization_code] → missing key: redirect_uris
grants: [refresh_token], ${code}
  grants: needs another grant beside refresh_token: a refresh token comes with the token of another one
  redirect_uris: applies only with authorization_code in grants: remove it, or add the grant
${code}, grants: [authorization_code], refresh: true
  refresh: says another thing than refresh_token in grants: remove it
${code}, grants: [authorization_code, refresh_token], refresh: false
  refresh: says another thing than refresh_token in grants: remove it
${own} → client_credentials needs a client that authenticates: set client_secret, or client_auth
grants: [client_credentials], ${keys} → missing key: scopes (needed with client_credentials in grants)
grants: [client_credentials], ${keys}, scopes: [] → scopes: must not be empty
${own}, ${keys}, ${code}
  redirect_uris: applies only with authorization_code in grants: remove it, or add the grant
grants: [client_credentials], ${keys}, scopes: [payments]
  scopes[0]: "payments" has max_age, and no person signs in here
grants: [client_credentials], ${keys}, scopes: [write]
  scopes[0]: "write" is not in front_door.scopes; it has read, payments
${own}, client_auth: private_key_jwt → missing key: jwks_uri (needed with client_auth: private_key_jwt)
${own}, ${keys}, client_secret: s3cr3t-2 → client_secret: does not apply with client_auth: private_key_jwt
${own}, client_secret: s3cr3t-2, jwks_uri: https://keys.example
  jwks_uri: applies only with client_auth: private_key_jwt
${own}, client_auth: client_secret_basic
  missing key: client_secret (needed with client_auth: client_secret_basic)
${own}, ${keys}, claims: { sub: x } → claims.sub: the front door itself sets sub
${own}, ${keys}, claims: { a: { b: c } } → claims.a: expected a text, a number, a boolean, or a list of these, found a mapping
${own}, ${keys}, claims: { a: [[b]] } → claims.a[0]: expected a string, a number or true or false, found a list
${code}, scopes: [read] → scopes: applies only with client_credentials in grants
${code}, claims: { a: b } → claims: applies only with client_credentials in grants
`),
  )('refuses %s', async (settings, problems) => {
    const lines = await refusals({ yaml: withClient(settings) });
    const place = /^gateway.yaml:8:\d+: front_door\.clients\.registered\.job(?:\.|: )?/;
    expect(lines.map((line) => line.replace(place, ''))).toEqual(problems);
  });

  test('refuses the client identifiers of workloads', async () => {
    const yaml = withClient(code).replace('job:', '"workload:job":');
    expect(await refusals({ yaml })).toEqual([expect.stringContaining('begins with workload:')]);
  });
});

describe('front_door.workloads', () => {
  /** A front door with this workload, in line 7. */
  const withWorkload = (settings: string): string => `public_url: https://gateway.example
front_door:
  issuer: https://signin.example
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: s3cr3t }
  workloads:
    job: { issuer: https://platform.example, ${settings} }
  scopes: { read: { title: Read }, payments: { title: Pay, max_age: 5m } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: http://127.0.0.1:3001 } }
`;
  const good = 'subjects: [a], scopes: [read]';
  const publicKey = '{ "keys": [{ "kty": "EC", "kid": "a" }] }';

  test('have the issuer of the front door as their audience, and may have keys of a file', async () => {
    const yaml = withWorkload(`${good}, jwks: "file:keys.json"`);
    const { frontDoor } = await loaded({ yaml, files: { 'keys.json': publicKey } });
    expect(frontDoor?.workloads.get('job')).toMatchObject({
      audience: 'https://signin.example',
      backchannel: 'https://platform.example',
      jwks: { keys: [{ kid: 'a' }] },
      lifetimeMs: undefined,
    });
  });

  test.each(
    casesOf(`
scopes: [read] → missing key: subjects
subjects: [a] → missing key: scopes
subjects: [], scopes: [read] → subjects: must not be empty
subjects: [a], scopes: [] → scopes: must not be empty
subjects: ["a***"], scopes: [read] → subjects[0]: "a***" has more than two * in a row
subjects: [a], scopes: [payments] → scopes[0]: "payments" has max_age, and no person signs in here
${good}, jwks: "file:none.json" → jwks: "file:none.json" names a file that does not exist
${good}, jwks: "file:private.json"
  jwks: "file:private.json" names a file with a private or symmetric key: write public ones only
${good}, jwks: "file:text.pem" → jwks: "file:text.pem" names a file that is no JWK Set
${good}, ca: text.pem → ca: "text.pem" names a file without a certificate in PEM
${good}, token: "a b" → token: the value is not a bearer token: a file has it without a line end
${good}, claims: { sub: sub } → claims.sub: the front door itself sets sub
`),
  )('refuses %s', async (settings, problems) => {
    const files = { 'private.json': '{ "keys": [{ "kty": "oct", "k": "a" }] }', 'text.pem': 'text' };
    const lines = await refusals({ yaml: withWorkload(settings), files });
    const place = /^gateway.yaml:7:\d+: front_door\.workloads\.job(?:\.|: )?/;
    expect(lines.map((line) => line.replace(place, ''))).toEqual(problems);
  });
});

describe('front_door', () => {
  const base = `public_url: http://127.0.0.1:8080
front_door:
  issuer: http://127.0.0.1:8090
  identity_providers:
    corporate: { issuer: https://login.example, client_id: a, client_secret: s3cr3t }
  clients: { registration: { redirect_uris: ["known:claude"] } }
  scopes: { read: { title: Read } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: http://127.0.0.1:3001 } }
`;
  const edited = (from: string, to: string): string => {
    expect(base).toContain(from);
    return base.replace(from, to);
  };

  test.each([
    [
      '{ issuer: https://login.example, client_id: a, client_secret: s3cr3t }',
      'https://login.example',
      '5:16: front_door.identity_providers.corporate: expected a mapping with issuer, client_id, found a string',
    ],
    [
      '{ redirect_uris: ["known:claude"] }',
      'true',
      '6:28: front_door.clients.registration: expected a mapping, found true; write {} for an empty one',
    ],
    [
      '  clients: {',
      '  listen: 127.0.0.1:8080\n  clients: {',
      '6:11: front_door.listen: front_door and listen cannot share an address',
    ],
    [
      '  clients: {',
      '  listen: 127.0.0.1:9090\n  clients: {',
      '6:11: front_door.listen: front_door and admin cannot share an address',
    ],
  ])('with %j as %j has one message', async (from, to, message) => {
    expect(await refusals({ yaml: edited(from, to) })).toEqual([`gateway.yaml:${message}`]);
  });

  test('may listen as the gateway does where it has a machine of its own', async () => {
    const listen = 'listen: 127.0.0.1:8080\n  backchannel: http://front-door:8080';
    expect(await refusals({ yaml: edited('  clients: {', `  ${listen}\n  clients: {`) })).toEqual([]);
  });
});
