import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { McpServer } from '@modelcontextprotocol/server';
import { parse } from 'yaml';
import type { Running } from '../../../demo/listen.ts';
import { startMcpServer } from '../../../demo/mcp-server.ts';
import { load } from '../../../src/serve/config/load.ts';
import { violations } from '../../../src/core/config/violations.ts';
import { mcpHandler, startHttp } from '../../support/mcp-servers.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { outcome } from '../run.ts';
import { sendJson } from '../../support/upstream.ts';
import { forThisTest } from '../../support/start-before.ts';

const files = [
  'gateway.yaml',
  'policies/tools.yaml',
  'policies/tools.test.yaml',
  'schema/gateway.schema.json',
  'schema/policy.schema.json',
  'schema/policy-test.schema.json',
];
const composed = [...files, 'docker-compose.yml', 'prometheus.yml'];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-init-'));
});

async function filesIn(place: string): Promise<readonly string[]> {
  const entries = await readdir(place, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1))
    .toSorted();
}

describe('an empty folder', () => {
  test('gets a configuration that passes check unchanged', async () => {
    expect(await outcome(['init'], folder)).toEqual({
      code: 0,
      stdout: `wrote
${files.map((file) => `  ${file}\n`).join('')}
Replace every value marked CHANGE, then run
  npx sallyport check
  npx sallyport test
  npx sallyport serve
and, while it serves,
  npx sallyport doctor
`,
      stderr: '',
    });
    expect(await filesIn(folder)).toEqual(files.toSorted());
    const ok = { code: 0, stdout: 'gateway.yaml: 1 route, 1 policy: ok\n', stderr: '' };
    expect(await outcome(['check'], folder)).toEqual(ok);
    const { code, stdout } = await outcome(['test', '--require-coverage'], folder);
    expect(stdout).toMatch(/\n12 passed, 0 failed; 7 of 7 rules decided by a test\n$/);
    expect(code).toBe(0);
  });

  test('gets the schemas that the first lines name', async () => {
    await outcome(['init'], folder);
    for (const file of files.slice(0, 3)) {
      const [, schema] =
        /^# yaml-language-server: \$schema=(\S+)\n/.exec(await readFile(join(folder, file), 'utf8')) ?? [];
      expect(JSON.parse(await readFile(join(folder, file, '..', schema ?? ''), 'utf8'))).toHaveProperty('$schema');
    }
  });

  test('prints the cd command for another folder', async () => {
    const { code, stdout } = await outcome(['init', "it's/new"], folder);
    expect(code).toBe(0);
    expect(stdout).toContain("\n  it's/new/gateway.yaml\n");
    expect(stdout).toContain("\n  cd 'it'\\''s/new'\n  npx sallyport check\n");
    expect(await filesIn(join(folder, "it's/new"))).toEqual(files.toSorted());
  });
});

describe('what it writes', () => {
  // Editors also remove the space behind the `#`.
  test.for([
    ['the # alone', /^( *)#(?=\S| {2})/gm],
    ['the # and the space behind it', /^( *)#(?:(?=\S)| (?= ))/gm],
  ] as const)('has keys in comments that all work without %s', async ([, comment]) => {
    await outcome(['init'], folder);
    const text = await readFile(join(folder, 'gateway.yaml'), 'utf8');
    const on = text.replaceAll(comment, '$1');
    expect(parse(on)).toMatchObject({
      session_key: '${env:SESSION_KEY}',
      log: { file: 'decisions.jsonl' },
      authorization_servers: { main: { introspection: { client_id: 'gateway' } } },
      routes: [{}, { name: 'api', path: '/api' }],
    });
    expect(violations('gateway', parse(on))).toEqual([]);
    await writeFile(join(folder, 'gateway.yaml'), on);
    const env = { SESSION_KEY: 'mD0uyd6KWfZ3xr1Q9vJb4TgHnPsL8cAe', GATEWAY_CLIENT_SECRET: 's3cret' };
    expect(await outcome(['check'], folder, { env })).toMatchObject({ code: 0, stderr: '' });
  });

  test('contains no secret, but names the source of each', async () => {
    await outcome(['init', '--compose'], folder);
    for (const file of composed.filter((each) => each.endsWith('l'))) {
      const text = await readFile(join(folder, file), 'utf8');
      for (const [, value] of text.matchAll(/(?:secret|session_key): *(.*)/gi)) expect(value).toMatch(/^\$\{/);
    }
  });
});

describe('--compose', () => {
  test('adds the gateway in front of a server that nothing else can reach', async () => {
    const { code, stdout } = await outcome(['init', '--compose'], folder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/ up\nand, while it serves,\n {2}docker compose run --rm gateway doctor\n$/);
    expect(await filesIn(folder)).toEqual(composed.toSorted());
    const { services, networks } = parse(await readFile(join(folder, 'docker-compose.yml'), 'utf8'), { merge: true });
    expect(networks.upstreams).toEqual({ internal: true });
    expect(services['mcp-server']).toMatchObject({ image: 'your-server', networks: ['upstreams'] });
    expect(services['mcp-server']).not.toHaveProperty('ports');
    expect(Object.keys(services.gateway.networks)).toEqual(['admin', 'front', 'upstreams']);
    expect(services.gateway.volumes).toEqual(['.:/config:ro']);
    expect(services.gateway.healthcheck.test).toContain('CMD');
    for (const each of Object.values(services)) expect(each).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
    const { environment } = services.gateway;
    const env = Object.fromEntries(
      Object.entries<string>(environment).map(([name, value]) => [name, value.replace(/^\$\{\w+:-(.*)\}$/, '$1')]),
    );
    expect(await outcome(['check'], folder, { env })).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('--upstream', () => {
  test('writes a policy for the tools of the server, which passes check and test at once', async () => {
    const server = await forThisTest(startMcpServer({ port: 0, apiUrl: 'http://127.0.0.1:9' }));
    const { code, stdout, stderr } = await outcome(['init', '--upstream', `${server.url}/mcp`], folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('\npolicies/tools.yaml lists 5 tools for read, 2 for read and write.\n');
    const policy = parse(await readFile(join(folder, 'policies/tools.yaml'), 'utf8'));
    expect(policy.tools).toMatchObject({ get_balance: {}, transfer_funds: { scope: 'write' } });
    const { config } = await load(join(folder, 'gateway.yaml'), {});
    expect(config.routes[0]?.upstream).toMatchObject({ origin: server.url, path: '/mcp' });
    expect(await outcome(['check'], folder)).toMatchObject({ code: 0, stderr: '' });
    const tests = await outcome(['test', '--require-coverage'], folder);
    expect(tests.stdout).toMatch(/\n14 passed, 0 failed; 11 of 11 rules decided by a test\n$/);
    expect(tests.code).toBe(0);
  });

  test('writes nothing if the server demands a token, and names the remedy', async () => {
    const server = await forThisTest(startHttp((_, response) => response.writeHead(401).end()));
    expect(await outcome(['init', '--upstream', server.url], folder)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `sallyport: nothing was written: --upstream: ${server.url} answered 401: it demands credentials of its own: ` +
        'the gateway will authorize callers, so disable its own authorization, or send it a key by --header\n',
    });
    expect(await filesIn(folder)).toEqual([]);
  });

  test('--header asks with a header of a secret, and writes its placeholder', async () => {
    const handle = mcpHandler(() => {
      const mcp = new McpServer({ name: 'x', version: '1' });
      mcp.registerTool('pay', { description: 'Pays.' }, () => ({ content: [] }));
      return mcp;
    });
    const server = await forThisTest(
      startHttp((request, response) => {
        if (request.headers['x-api-key'] === 'k3y-of-the-crm') void handle(request, response);
        else response.writeHead(401).end();
      }),
    );
    await writeFile(join(folder, 'key'), 'k3y-of-the-crm\n');
    const args = [
      'init',
      '--upstream',
      `${server.url}/mcp`,
      '--header',
      'X-Api-Key: ${file:key}',
      '--header',
      'x-b: c',
    ];
    expect(await outcome(args, folder)).toMatchObject({ code: 0, stderr: '' });
    const { routes } = parse(await readFile(join(folder, 'gateway.yaml'), 'utf8'));
    expect(routes[0].upstream.headers).toEqual({ 'X-Api-Key': '${file:key}', 'x-b': 'c' });
    expect((await outcome(['doctor'], folder)).stdout).toContain('has 1 tool, of which the policy lists 1');
  });

  test.for([
    ['X-Api-Key', "--header: write 'Name: value'"],
    ['X-Api-Key:', "--header: write 'Name: value'"],
    ['Host: x', '--header: Host is reserved'],
  ])('--header %s is refused', async ([header = '', message]) => {
    const { code, stderr } = await outcome(['init', '--header', header], folder);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message ?? '')]);
  });

  test('--header with a secret that is not there writes nothing', async () => {
    const { code, stderr } = await outcome(['init', '--header', 'x: ${file:none}'], folder);
    expect([code, stderr]).toEqual([1, 'sallyport: nothing was written: --header: x: ${file:none} does not exist\n']);
  });

  test('names the setting of a server that does not serve its host', async () => {
    const server = await forThisTest(startHttp((_, response) => response.writeHead(421).end()));
    const { stderr } = await outcome(['init', '--upstream', server.url], folder);
    expect(stderr).toMatch(/ answered 421: it checks Host, and does not serve this one: add 127\.0\.0\.1:\d+ to the /);
  });

  test.for(['ftp://x', 'http://u:p@h/mcp', 'http://h/mcp?key=1', 'http://h/${env:X}', 'http://h/a b'])(
    'refuses %s, which could not be `upstream.url`',
    async (url) => {
      const { code, stderr } = await outcome(['init', '--upstream', url], folder);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^sallyport: --upstream: ".* \w+ .*\n$/)]);
    },
  );
});

describe('--front-door', () => {
  test('writes the built-in authorization server, with the provider of --issuer', async () => {
    const provider = await forThisTest(startOidcProvider([]));
    const { code, stdout } = await outcome(['init', '--front-door', '--issuer', provider.issuer], folder);
    expect(code).toBe(0);
    expect(stdout).toContain('set its secret in PROVIDER_SECRET');
    const { config } = await load(join(folder, 'gateway.yaml'), { PROVIDER_SECRET: 's3cret' });
    expect(config.frontDoor).toMatchObject({ issuer: 'http://127.0.0.1:8090' });
    expect([...(config.frontDoor?.providers.values() ?? [])]).toMatchObject([
      { name: 'company', issuer: provider.issuer, credentials: { clientId: 'sallyport', clientSecret: 's3cret' } },
    ]);
    expect(config.routes[0]?.authorizationServers.map(({ name }) => name)).toEqual(['front_door']);
    const env = { PROVIDER_SECRET: 's3cret' };
    const checked = await outcome(['check', '--strict'], folder, { env });
    expect(checked).toMatchObject({ code: 0, stderr: '' });
    expect(checked.stdout).toMatch(/\ngateway\.yaml: 1 route, 1 policy: ok\n$/);
    expect(await outcome(['test'], folder, { env })).toMatchObject({ code: 0 });
  });

  test.for(['--opaque', '--compose'])('stands without %s', async (flag) => {
    const { code, stderr } = await outcome(['init', '--front-door', flag], folder);
    expect([code, stderr]).toEqual([
      2,
      'sallyport: --front-door stands without --opaque and --compose; see sallyport help init\n',
    ]);
    expect(await filesIn(folder)).toEqual([]);
  });
});

describe('--issuer', () => {
  test('fills in the issuer and the algorithms of its keys', async () => {
    const provider = await forThisTest(startOidcProvider([]));
    const { code, stdout } = await outcome(['init', '--compose', '--issuer', provider.issuer], folder);
    expect(code).toBe(0);
    expect(stdout).toContain('It can introspect opaque tokens');
    expect(await readFile(join(folder, 'gateway.yaml'), 'utf8')).toMatch(
      /# CHANGE: if the server issues opaque .*\n.*\n +#introspection:\n/,
    );
    const { config } = await load(join(folder, 'gateway.yaml'), {});
    expect(config.authorizationServers.get('main')).toMatchObject({
      issuer: provider.issuer,
      jwt: { algorithms: ['RS256', 'ES256'] },
      introspection: undefined,
    });
    expect(await readFile(join(folder, 'docker-compose.yml'), 'utf8')).toContain(`\${ISSUER:-${provider.issuer}}`);
    expect(await outcome(['check'], folder)).toMatchObject({ code: 0, stderr: '' });
  });

  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const withKeys = (url: string): object => ({
    jwks_uri: `${url}/jwks`,
    keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }],
  });
  const introspects = (url: string): object => ({ introspection_endpoint: `${url}/introspect` });
  const credentials = (clientSecret: string): object => ({ credentials: { clientId: 'gateway', clientSecret } });

  test.for<[string, (url: string) => object, jwt: unknown, introspection: unknown, flags?: readonly string[]]>([
    ['introspection alone if it publishes no keys', introspects, undefined, credentials('s3cret')],
    ['nothing of introspection if it has none', withKeys, { algorithms: ['ES256'] }, undefined],
    [
      'introspection beside the algorithms with --opaque',
      (url) => ({ ...withKeys(url), ...introspects(url) }),
      { algorithms: ['ES256'] },
      credentials('s3cret'),
      ['--opaque'],
    ],
  ])('writes %s', async ([, metadata, jwt, introspection, flags = []]) => {
    const issuer = await issuerThatSays((url) => ({ issuer: url, ...metadata(url) }));
    const { code, stdout, stderr } = await outcome(['init', ...flags, '--issuer', issuer], folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.includes('GATEWAY_CLIENT_SECRET')).toBe(introspection !== undefined);
    const { config } = await load(join(folder, 'gateway.yaml'), { GATEWAY_CLIENT_SECRET: 's3cret' });
    const server = config.authorizationServers.get('main');
    expect(server).toMatchObject({ jwt, introspection });
    const text = await readFile(join(folder, 'gateway.yaml'), 'utf8');
    expect(text.includes('introspection')).toBe(introspection !== undefined);
  });

  test.for<[string, (url: string) => object, string, flags?: readonly string[]]>([
    ['no way to verify tokens', () => ({}), '--issuer: URL publishes neither usable keys nor introspection'],
    ['no introspection for --opaque', withKeys, '--opaque: URL publishes no introspection endpoint', ['--opaque']],
    [
      'the metadata of another issuer',
      () => ({ issuer: 'https://as.example' }),
      '--issuer: URL/.well-known/oauth-authorization-server names the issuer "https://as.example", not "URL": ' +
        'check that the server is up, and write its issuer byte for byte as its metadata do',
    ],
  ])('R-227: refuses a server with %s, and writes nothing', async ([, metadata, fault, flags = []]) => {
    const issuer = await issuerThatSays((url) => ({ issuer: url, ...metadata(url) }));
    const stderr = `sallyport: nothing was written: ${fault.replaceAll('URL', issuer)}\n`;
    expect(await outcome(['init', ...flags, '--issuer', issuer], folder)).toEqual({ code: 1, stdout: '', stderr });
    expect(await filesIn(folder)).toEqual([]);
  });

  test('names the scopes that the server does not list', async () => {
    const supported = { scopes_supported: ['openid', 'read'] };
    const issuer = await issuerThatSays((url) => ({ issuer: url, ...introspects(url), ...supported }));
    const { stdout } = await outcome(['init', '--issuer', issuer], folder);
    expect(stdout).toContain('The authorization server does not list the scopes write: ');
  });
});

describe('--client', () => {
  test('prints it after a first configuration, too', async () => {
    const { code, stdout } = await outcome(['init', '--client', 'cursor'], folder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^wrote\n[^]*\n\{\n {2}"mcpServers": \{\n {4}"tools": \{\n {6}"url": "http:/);
  });

  test('prints the problems of a configuration that cannot be used', async () => {
    await writeFile(join(folder, 'gateway.yaml'), 'routes: []\n');
    expect(await outcome(['init', '--client', 'cursor'], folder)).toMatchObject({ code: 1, stdout: '' });
  });
});

/** The URL of a server with metadata that the test sets. */
async function issuerThatSays(metadata: (url: string) => object): Promise<string> {
  const server: Running = await forThisTest(startHttp((_, response) => sendJson(response, 200, metadata(server.url))));
  return server.url;
}

describe('existing files', () => {
  test('are listed, and init writes nothing', async () => {
    await mkdir(join(folder, 'policies'));
    await writeFile(join(folder, 'policies/tools.yaml'), 'mine');
    // Writing would follow it.
    await symlink(join(folder, 'elsewhere'), join(folder, 'gateway.yaml'));
    expect(await outcome(['init', '--compose'], folder)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'sallyport: nothing was written: these files exist already\n  gateway.yaml\n  policies/tools.yaml\nwrite to a new folder instead: npx sallyport init DIR\n',
    });
    expect(await filesIn(folder)).toEqual(['policies/tools.yaml']);
    expect(await readFile(join(folder, 'policies/tools.yaml'), 'utf8')).toBe('mine');
  });

  test('with other names do not matter', async () => {
    await writeFile(join(folder, 'package.json'), '{}');
    expect(await outcome(['init'], folder)).toMatchObject({ code: 0 });
  });

  test('in the place of a folder are reported in one line', async () => {
    await writeFile(join(folder, 'policies'), '');
    const { code, stdout, stderr } = await outcome(['init'], folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^sallyport: ENOTDIR: .*policies.*\n$/);
  });
});
