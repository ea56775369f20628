import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { upstreamToken } from '../../../src/capabilities/exchange/slot.ts';
import { stringify } from 'yaml';
import { load, loadConfig } from '../../../src/serve/config/load.ts';
import { ConfigError } from '../../../src/core/config/problems.ts';
import { refuses, top, upstream } from './edits.ts';
import { everyKey } from './every-key.ts';
import { base, edited, folderWith, loaded } from './folder.ts';

describe('a configuration', () => {
  test('holds every value', async () => {
    const config = await loaded({ yaml: stringify(everyKey), files: { 'policies/a.yaml': 'tools: {}' } });
    const main = config.authorizationServers.get('main');
    expect(main).toEqual({
      name: 'main',
      issuer: 'http://127.0.0.1:9000',
      backchannel: 'http://as:9000',
      jwt: {
        algorithms: ['RS256'],
        types: ['at+jwt'],
        issuers: ['http://127.0.0.1:9000/v1'],
        jwksUri: 'http://as:9000/jwks',
      },
      introspection: {
        credentials: { clientId: 'gateway', clientSecret: 's3cr3t', clientAuth: 'client_secret_post' },
        response: { kind: 'jwt', algorithms: ['ES256'] },
        endpoint: 'http://as:9000/introspect',
        cacheMs: 10_000,
        audience: 'optional',
        prefix: 'main_',
      },
      scopePrefix: 'api://main/',
      audienceClaim: 'client_id',
      clockToleranceMs: 1000,
      timeoutMs: 2000,
      staleMs: 3_600_000,
    });
    expect(config).toMatchObject({
      publicUrl: 'https://127.0.0.1:8080',
      listen: { host: '127.0.0.1', port: 8081 },
      limits: { requestBodyBytes: 1024, requestHeadersBytes: 8 * 1024 },
      log: { level: 'debug', decisions: 'denials' },
    });
    expect([...config.policies.keys()]).toEqual(['a']);
    const [api, tools] = config.routes;
    expect(api).toMatchObject({
      name: 'api',
      path: '/api',
      protocol: 'http',
      methods: new Set(['GET']),
      public: false,
      isFrontDoor: false,
      resource: {
        name: 'API',
        scopesSupported: ['read'],
        documentation: 'https://docs.example',
        policyUri: 'https://docs.example/policy',
        tosUri: 'https://docs.example/tos',
      },
      authorizationServers: [main],
      audiences: ['https://api.example'],
      tokens: new Set(['jwt']),
      statesTokens: true,
      policy: undefined,
      below: 'pass',
      query: 'pass',
      firstChallenge: 'supported',
      finalRefusals: 'http',
      upgrade: 'websocket',
      upstream: {
        origin: 'http://127.0.0.1:3000',
        path: '',
        identity: new Map([['x-auth-subject', 'sub']]),
        allowedCommands: ['x-accel-redirect', 'alt-svc'],
        ownFields: expect.objectContaining({ names: new Set(['x-api-key', 'x-tenant-key']) }) as unknown,
        keepsLocations: true,
        idleMs: 3000,
        connectionLifetimeMs: 300_000,
        connectTimeoutMs: 1000,
        responseTimeoutMs: 2000,
      },
    });
    expect(tools).toMatchObject({ protocol: 'mcp', below: 'pass', query: 'refuse', finalRefusals: 'tool_error' });
  });

  test('closes the hierarchy of scopes', async () => {
    const { scopeHierarchy } = await loaded({ yaml: top('scopes: { admin: [write], write: [read] }') });
    expect(Object.fromEntries(scopeHierarchy)).toEqual({ admin: ['write', 'read'], write: ['read'] });
  });

  test('a public route has no server and accepts no token', async () => {
    const { routes } = await loaded({ yaml: edited(['audience: https://api.example', 'public: true']) });
    const none = { authorizationServers: [], audiences: [], tokens: new Set(), statesTokens: false };
    expect(routes).toMatchObject([{ public: true, ...none, resource: undefined, firstChallenge: 'none' }]);
  });

  test('has a safe default for every optional key', async () => {
    const config = await loaded({ yaml: edited(['audience: https://api.example', 'protocol: mcp']) });
    expect(config).toMatchObject({
      listen: { host: '127.0.0.1', port: 8080 },
      admin: { listen: { host: '127.0.0.1', port: 9090 }, hosts: [], token: undefined },
      scopeHierarchy: new Map(),
      limits: { requestBodyBytes: 1024 * 1024, requestHeadersBytes: 16 * 1024 },
      log: { level: 'info', decisions: 'all' },
      policies: new Map(),
    });
    expect(config.authorizationServers.get('main')).toMatchObject({
      backchannel: 'http://127.0.0.1:9000',
      jwt: { types: undefined, jwksUri: undefined },
      introspection: {
        credentials: { clientAuth: 'client_secret_basic' },
        response: { kind: 'json' },
        cacheMs: 30_000,
        audience: 'required',
      },
      clockToleranceMs: 5000,
      timeoutMs: 5000,
      staleMs: 86_400_000,
    });
    expect(config.routes[0]).toMatchObject({
      authorizationServers: [{ name: 'main' }],
      audiences: ['http://127.0.0.1:8080/api'],
      tokens: new Set(['jwt', 'opaque']),
      statesTokens: false,
      policy: undefined,
      resource: { name: undefined, scopesSupported: undefined },
      upstream: {
        token: 'none',
        ownFields: undefined,
        keepsLocations: false,
        idleMs: 4000,
        connectTimeoutMs: 5000,
        responseTimeoutMs: 60_000,
      },
    });
  });

  test.each([
    ['off', undefined],
    ['{ listen: off, token: 0123456789abcdef }', undefined],
    ['"[::1]:9090"', { listen: { host: '::1', port: 9090 } }],
    ['localhost:0', { listen: { host: 'localhost', port: 0 } }],
    ['{ listen: "sallyport-admin:9090" }', { listen: { host: 'sallyport-admin', port: 9090 }, hosts: [] }],
    [
      '{ listen: "${env:ADMIN}", hosts: [Prometheus.internal, a.example.], token: "${env:TOKEN}" }',
      {
        listen: { host: '0.0.0.0', port: 9090 },
        hosts: ['prometheus.internal', 'a.example'],
        token: 'Kx7-of-the-operators',
      },
    ],
    ['{ listen: "x:1", token: "${env:UNSET:-}" }', { listen: { host: 'x', port: 1 }, token: undefined }],
  ])('admin: %s', async (yaml, admin) => {
    const env = { ADMIN: '0.0.0.0:9090', TOKEN: 'Kx7-of-the-operators' };
    expect(await loaded({ yaml: `${base}admin: ${yaml}\n`, env })).toMatchObject({ admin });
  });

  test('keeps an issuer byte for byte, its trailing slash included', async () => {
    const issuer = 'https://As.example:443/t1/';
    const config = await loaded({ yaml: edited(['issuer: http://127.0.0.1:9000', `issuer: ${issuer}`]) });
    expect(config.authorizationServers.get('main')?.issuer).toBe(issuer);
  });

  test('accepts only the forms of tokens that a trusted authorization server can validate', async () => {
    const config = await loaded({ yaml: edited(['    jwt: { algorithms: [RS256] }\n', '']) });
    expect(config.routes[0]?.tokens).toEqual(new Set(['opaque']));
  });

  test('takes the algorithms of signed answers from jwt, or from the key beside response', async () => {
    const signed = async (members: string): Promise<unknown> => {
      const config = await loaded({ yaml: edited(['client_secret: s3cr3t', `client_secret: s3cr3t, ${members}`]) });
      return config.authorizationServers.get('main')?.introspection?.response;
    };
    expect(await signed('response: jwt')).toEqual({ kind: 'jwt', algorithms: ['RS256'] });
    const two = { kind: 'jwt', algorithms: ['ES256', 'PS256'] };
    expect(await signed('response: jwt, algorithms: [ES256, PS256]')).toEqual(two);
    expect(await signed('response: json')).toEqual({ kind: 'json' });
  });

  test('exchanges with the credentials of introspection by default, or with its own', async () => {
    const exchanging = (members: string) =>
      loaded({ yaml: edited(upstream(`token: exchange\n      exchange: ${members}`)) });
    const plain = await exchanging('{ audience: https://b.example }');
    expect(plain.routes[0] && upstreamToken.of(plain.routes[0])).toMatchObject({
      kind: 'exchange',
      exchange: {
        server: plain.authorizationServers.get('main'),
        credentials: { clientId: 'gateway', clientSecret: 's3cr3t', clientAuth: 'client_secret_basic' },
        endpoint: undefined,
        audience: ['https://b.example'],
        resource: [],
        scope: [],
        subjectTokenType: 'access_token',
        tokenType: 'access_token',
        actor: 'none',
        grant: 'token_exchange',
      },
    });
    const own = `{ server: main, client_id: x, client_secret: y, client_auth: client_secret_post, scope: [a, b],
        audience: [a, b], resource: ['https://x/', 'https://y/'], token_type: jwt, subject_token_type: jwt,
        actor: client_credentials }`;
    const other = await exchanging(own);
    expect(other.routes[0] && upstreamToken.of(other.routes[0])).toMatchObject({
      exchange: {
        credentials: { clientId: 'x', clientSecret: 'y', clientAuth: 'client_secret_post' },
        scope: ['a', 'b'],
        audience: ['a', 'b'],
        resource: ['https://x/', 'https://y/'],
        subjectTokenType: 'jwt',
        tokenType: 'jwt',
        actor: 'client_credentials',
      },
    });
  });
});

describe('placeholders', () => {
  test.each([
    ['a variable', 'http://${env:HOST}:80/x', { HOST: 'one' }, 'http://one'],
    ['a default', 'http://${env:HOST:-two}', {}, 'http://two'],
    ['a default for an empty variable', 'http://${env:HOST:-two}', { HOST: '' }, 'http://two'],
    ['a file, without its last line break', 'http://${file:secrets/host}', {}, 'http://three'],
    ['several', 'http://${env:A}${env:B}:${env:PORT:-81}', { A: 'a', B: 'b' }, 'http://ab:81'],
  ])('R-158: are replaced: %s', async (_title, url, env, origin) => {
    const yaml = edited(['url: http://127.0.0.1:3000', `url: ${url}`]);
    const { routes } = await loaded({ yaml, env, files: { 'secrets/host': 'three\r\n' } });
    expect(routes[0]?.upstream.origin).toBe(origin);
  });

  test.each([
    ['are not expanded again in an inserted value', '${env:A}', '${env:B}'],
    ['insert a file without its last line break', '${file:s}', ' a\nb \n'],
  ])('%s', async (_title, placeholder, clientSecret) => {
    const yaml = edited(['client_secret: s3cr3t', `client_secret: "${placeholder}"`]);
    const config = await loaded({ yaml, env: { A: '${env:B}' }, files: { s: ' a\nb \n\n' } });
    expect(config.authorizationServers.get('main')?.introspection?.credentials).toMatchObject({ clientSecret });
  });

  test('work in the place of a word, a duration or a size', async () => {
    const yaml = `${base}log: { level: "\${env:L}" }\nlimits: { request_body: "\${env:S}" }\nadmin: \${env:OFF}\n`;
    const config = await loaded({ yaml, env: { L: 'warn', S: '1KiB', OFF: 'off' } });
    expect(config).toMatchObject({ log: { level: 'warn' }, limits: { requestBodyBytes: 1024 }, admin: undefined });
  });
});

test('the folder of policies is read whole, without tests and hidden files; a policy may be unused', async () => {
  const config = await loaded({
    yaml: `${base}policies: \${env:DIR}\n`,
    env: { DIR: 'rules' },
    files: {
      'rules/a.yaml': 'scope: a',
      'rules/b.yaml': '{}',
      'rules/a.test.yaml': 'no: policy',
      'rules/.c.yaml': 'half a sa',
      'rules/d.yml': '?',
      'rules/e.yaml~': '?',
    },
  });
  expect([...config.policies.keys()]).toEqual(['a', 'b']);
});

const names = (folder: string): string[] =>
  ['gateway.yaml', 'policies', 'policies/a.yaml', 's'].map((name) => join(folder, name));

describe('load', () => {
  test('names the files that it read, also when it refuses them', async () => {
    const situation = {
      yaml: edited(['client_secret: s3cr3t', 'client_secret: "${file:s}"']),
      files: { s: 'x', 'policies/a.yaml': '{}' },
    };
    const folder = await folderWith(situation);
    expect((await load(join(folder, 'gateway.yaml'), {})).files).toEqual(names(folder));
    const broken = await folderWith({ ...situation, yaml: `${situation.yaml}oops: 1\n` });
    const refused = await load(join(broken, 'gateway.yaml'), {}).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    expect((refused as ConfigError).files).toEqual(names(broken));
  });

  test('hashes the YAML texts without secrets', async () => {
    const yaml = edited(['client_secret: s3cr3t', 'client_secret: "${file:s}"']);
    const policies = { 'policies/a.yaml': '{}' };
    const { hash } = await loaded({ yaml, files: { ...policies, s: 'one' } });
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect((await loaded({ yaml, files: { ...policies, s: 'two' } })).hash).toBe(hash);
    expect((await loaded({ yaml: `${yaml}# c`, files: { ...policies, s: 'one' } })).hash).not.toBe(hash);
    expect((await loaded({ yaml, files: { 'policies/a.yaml': '{} ', s: 'one' } })).hash).not.toBe(hash);
    expect((await loaded({ yaml, files: { 'policies/b.yaml': '{}', s: 'one' } })).hash).not.toBe(hash);
  });

  test('reads the environment of the process by default', async () => {
    const folder = await folderWith({ yaml: base });
    expect((await loadConfig(join(folder, 'gateway.yaml'))).routes).toHaveLength(1);
  });

  test('refuses a missing file without a line number', async () => {
    await expect(loadConfig('/nowhere/gateway.yaml')).rejects.toMatchObject({
      message: '/nowhere/gateway.yaml: does not exist; sallyport init writes one',
    });
  });
});

const key = 'session_key: k3y-of-at-least-thirty-two-characters';

describe('shared', () => {
  test.for([
    'redis://redis',
    'rediss://gateway:p%2Fw@redis.example:6380/0',
    'redis://:password@[::1]:6379/',
    'rediss+sentinel://u:p%40ss@[::1]:26379,h2/mymaster?db=3&sentinel_password=x%2By',
    'redis+cluster://u:p%40ss@[::1]:7000,h2',
  ])('accepts %s from the environment', async (url) => {
    const yaml = (more = '') => top(`shared: \${env:STORE}\n${more}${key}`);
    const env = { STORE: url };
    expect((await loaded({ yaml: yaml(), env })).shared).toEqual({ url, onFailure: 'closed' });
    const open = await loaded({ yaml: yaml('on_store_failure: open\n'), env });
    expect(open.shared).toEqual({ url, onFailure: 'open' });
  });

  test('is off by default', async () => {
    expect((await loaded({ yaml: base })).shared).toBeUndefined();
  });
});

describe('shared is refused and never shown', () => {
  refuses(
    `
shared: http://u:hunter2@h → :14:9: shared: the value is not a redis:// or rediss:// URL, nor one that begins with redis+sentinel:// or redis+cluster://
shared: u:hunter2@h → :14:9: shared: the value is not a redis:// or rediss:// URL, nor one that begins with redis+sentinel:// or redis+cluster://
shared: \${env:SECRET} → :14:9: shared: the value is not a redis:// or rediss:// URL, nor one that begins with redis+sentinel:// or redis+cluster://
shared: 6379 → :14:9: shared: expected a URL such as redis://user:password@redis:6379/0, found a number
shared: redis://:hunter2@ → :14:9: shared: the value is not a URL: percent-encode special characters in the password
shared: redis://:hunter2@h/a/b → :14:9: shared: the value has a path that is not a database number
shared: redis+cluster://u:hunter2@h1:6379,h2:6379/0 → :14:9: shared: the value has a path or query: a cluster has database 0 alone
shared: redis+cluster://u:hunter2@h1?db=1 → :14:9: shared: the value has a path or query: a cluster has database 0 alone
shared: redis+cluster://u:hunter2@h1,h2:x → :14:9: shared: the value has a host that is not of the form host:port
shared: redis+sentinel://u:hunter2@h1,h2:26379 → :14:9: shared: the value names no primary: write its name at the sentinels after the hosts, as /mymaster
shared: redis+sentinel://u:hunter2@h1,:26379/m → :14:9: shared: the value has a host that is not of the form host:port
shared: redis+sentinel://u:hunter2@h1:70000/m → :14:9: shared: the value has a host that is not of the form host:port
shared: redis+sentinel://u:hunt@er2@h1/m → :14:9: shared: the value is not a URL: percent-encode special characters in users and passwords
shared: redis+sentinel://u:hunter%2@h1/m → :14:9: shared: the value has a user, password or name that is not percent-encoded
shared: redis+sentinel://h1/m?db=-1 → :14:9: shared: the value has a db that is not a database number
shared: redis+sentinel://h1/m?password=hunter2 → :14:9: shared: the value has a parameter besides db, sentinel_username, sentinel_password
shared: redis+sentinel://h1/m?db=1&db=2 → :14:9: shared: the value has db twice
shared: redis://h/0?password=hunter2 → :14:9: shared: the value has a query or fragment: percent-encode special characters in the password
shared: "redis://:hunter2#x@h" → :14:9: shared: the value is not a URL: percent-encode special characters in the password
shared: redis://:hunter2%@h → :14:9: shared: the value has a user or password that is not percent-encoded
shared: "redis://:hunter 2@h" → :14:9: shared: the value is not a URL: percent-encode special characters in the password
shared: redis://h⏎on_store_failure: maybe → :15:19: on_store_failure: "maybe" is neither closed nor open
`,
    'top session_key: k3y-of-at-least-thirty-two-characters & top ',
  );
  refuses(`
top shared: redis://:hunter2@h⏎ → :13:1: shared: needs session_key: set the same one on all replicas
top on_store_failure: open → :13:1: on_store_failure: applies only with shared
`);
});
