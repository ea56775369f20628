import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/serve/config/load.ts';
import { examineServer } from '../../../src/commands/doctor/authorization-server.ts';
import { examine } from '../../../src/commands/doctor/doctor.ts';
import type { Finding } from '../../../src/capabilities/finding.ts';
import { examineFrontDoor } from '../../../src/commands/doctor/front-door.ts';
import type { AuthorizationServer } from '../../../src/core/model/authorization-server.ts';
import type { Config } from '../../../src/ports/config.ts';
import type { FrontDoor, IdentityProvider } from '../../../src/ports/front-door.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';
import { startHttp } from '../../support/mcp-servers.ts';
import { sendJson } from '../../support/upstream.ts';
import { startQuirkyServer } from '../../support/quirky-server.ts';
import { startFrontDoorWorld, writeFrontDoorFiles } from '../../worlds/front-door.ts';
import { linesOf } from './found.ts';

const key = 'k3y-of-at-least-thirty-two-characters';
const world = startBeforeAll(() => startFrontDoorWorld({ top: `session_key: ${key}` }));

/** Examines the front door of the world with other settings. The lines name its issuer ISSUER, and its provider IDP. */
async function examined(changes: Partial<FrontDoor> = {}, more: Partial<Config> = {}): Promise<readonly string[]> {
  const lines = await linesOf(examineFrontDoor({ ...world.configWith(changes), ...more }));
  return lines.map((line) => line.replaceAll(world.issuer, 'ISSUER').replaceAll(world.provider.issuer, 'IDP'));
}

function providersWith(changes: object): FrontDoor['providers'] {
  const [[name, provider]] = [...world.config.frontDoor.providers] as [[string, object]];
  return new Map([[name, { ...provider, ...changes }]]) as unknown as FrontDoor['providers'];
}

/** What doctor finds on a whole configuration. */
async function allOf(config: Config): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of examine(config, undefined)) findings.push(finding);
  return findings;
}

const good = [
  'ok front_door.issuer: ISSUER/.well-known/oauth-authorization-server has the metadata',
  'ok front_door.issuer: ISSUER/.well-known/openid-configuration has the metadata',
  'ok front_door.keys: its keys derive from session_key',
  'ok front_door.identity_providers.corporate: it is discovered, and accepts the credentials of front-door',
  'ok front_door.identity_providers.corporate: the redirect URI ISSUER/callback/corporate is registered there',
];

test('finds that all is well, and doctor includes it', async () => {
  expect(await examined()).toEqual(good);
  const all = await allOf(world.config);
  expect(all.map(({ subject }) => subject)).toContain('front_door.identity_providers.corporate');
  // Clients register for read, and payments is asked for later: the front door grants a client more than that.
  expect(all.filter(({ subject }) => subject === 'authorization_servers.front_door')).toEqual([]);
});

test.each([
  [['roles'], 'approvals: { authorization_servers: [front_door] }', 1],
  [['roles', 'email'], 'approvals: { authorization_servers: [front_door] }', 0],
  [['roles'], '', 0],
])(
  'warns of a provider that names no people, where people approve calls: %j, %j',
  async (idTokenClaims, top, count) => {
    const provider = { idTokenClaims, userInfoClaims: [] };
    const files = await forThisTest(
      writeFrontDoorFiles({ provider, top: `session_key: ${key}\n${top}`, policy: 'scope: read\n' }),
    );
    const lines = await linesOf(examineFrontDoor(await loadConfig(join(files.folder, 'gateway.yaml')), false));
    expect(lines.filter((line) => line.includes('approvers see callers as hashes'))).toHaveLength(count);
  },
);

test('finds an issuer that leads elsewhere, or nowhere', async () => {
  const { issuer } = world.provider;
  expect((await examined({ issuer: `${issuer}/nowhere` }))[0]).toBe(
    'fail front_door.issuer: IDP/.well-known/oauth-authorization-server/nowhere answered 404, not the metadata',
  );
  const elsewhere = await examined({ issuer: issuer.replace('127.0.0.1', 'localhost') });
  expect(elsewhere[1]).toContain('openid-configuration names the issuer "IDP"');
  expect((await examined({ issuer: 'http://127.0.0.1:1024' }))[0]).toMatch(
    /^warn front_door\.issuer: .* cannot be reached \(ECONNREFUSED\)$/,
  );
});

test.each([undefined, '/signin'])('has one warning before serve starts it, at the path %s', async (below) => {
  const files = await forThisTest(writeFrontDoorFiles({ top: `session_key: ${key}`, ...(below && { below }) }));
  const config = await loadConfig(join(files.folder, 'gateway.yaml'));
  expect((await allOf(config)).filter(({ status }) => status !== 'ok')).toEqual([
    expect.objectContaining({ status: 'warn', subject: 'public_url' }),
    {
      status: 'warn',
      subject: 'front_door',
      text: `nothing listens at ${config.frontDoor?.server.backchannel} (ECONNREFUSED)`,
      remedy: 'start the gateway (`sallyport serve` starts the front door too), then run doctor again',
    },
  ]);
});

test.each([
  [key, 'fail', /answered 401/],
  [
    undefined,
    'ok',
    /^introspection is not examined: without session_key, only the processes of serve know its secret$/,
  ],
])('with the session key %s, finds a secret of another process to be %s', async (sessionKey, status, text) => {
  const { frontDoor } = world.config;
  const { introspection } = frontDoor.server;
  if (introspection === undefined) throw new TypeError('no introspection');
  const credentials = { ...introspection.credentials, clientSecret: 'of another process' };
  const server = { ...frontDoor.server, introspection: { ...introspection, credentials } } as AuthorizationServer;
  const findings = await examineServer(server, { ...world.configWith({ server }), sessionKey });
  expect(findings.at(-1)).toMatchObject({ status, text: expect.stringMatching(text) as string });
});

test('fails where a front door elsewhere does not answer', async () => {
  const server = { ...world.config.frontDoor.server, backchannel: 'http://127.0.0.1:1024' };
  const authorizationServers = new Map([[server.name, server]]);
  const findings = await allOf({ ...world.configWith({ server }), authorizationServers });
  expect(findings).toContainEqual(
    expect.objectContaining({ status: 'fail', subject: 'authorization_servers.front_door' }),
  );
});

test.each([
  [
    'a wrong secret',
    { credentials: { clientId: 'front-door', clientAuth: 'client_secret_basic', clientSecret: 'wrong' } },
    'it answered invalid_client to a made-up code for front-door',
  ],
  ['a provider that is away', { backchannel: 'http://127.0.0.1:1024' }, 'IDP cannot be discovered (ECONNREFUSED)'],
  [
    'another issuer',
    { issuer: 'http://127.0.0.1:1024' },
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:1024 cannot be discovered \(/),
  ],
])('finds %s', async (_title, changes, text) => {
  const lines = await examined({ providers: providersWith(changes) });
  const line = lines.find((each) => each.startsWith('fail'));
  expect(line?.replace('fail front_door.identity_providers.corporate: ', '')).toEqual(text);
  expect(lines.at(-1)).toContain('ISSUER/callback/corporate');
});

test.each([
  ['client_secret_basic', 'client_secret_post'],
  ['client_secret_post', 'client_secret_basic'],
] as const)('names the client_auth that works where the provider refuses %s', async (clientAuth, works) => {
  const provider = await startHttp(async (request, response) => {
    const { url } = provider;
    if (request.url !== '/token') {
      const endpoints = { authorization_endpoint: `${url}/auth`, token_endpoint: `${url}/token` };
      return sendJson(response, 200, { issuer: url, ...endpoints });
    }
    const isInBody = (await text(request)).includes('client_secret=s-3_cr.t');
    const accepts = isInBody === (works === 'client_secret_post');
    return sendJson(response, 400, { error: accepts ? 'invalid_grant' : 'invalid_client' });
  });
  onTestFinished(() => provider.close());
  const { url } = provider;
  const credentials = { clientId: 'front-door', clientAuth, clientSecret: 's-3_cr.t' };
  const providers = providersWith({ issuer: url, backchannel: url, credentials });
  const found = await examineFrontDoor(world.configWith({ providers }));
  const remedies = found.filter(({ status }) => status === 'fail').map(({ remedy }) => remedy);
  expect(remedies).toEqual([expect.stringContaining(`set client_auth: ${works}`)]);
});

test('finds a redirect URI that the provider does not know', async () => {
  const [[, provider]] = [...providersWith({ name: 'other' })] as [[string, IdentityProvider]];
  const lines = await examined({ providers: new Map([['other', provider]]) });
  expect(lines.at(-1)).toBe(
    'fail front_door.identity_providers.other: it refuses the redirect URI ISSUER/callback/other (400)',
  );
});

describe('another provider', () => {
  const entraLike = startBeforeAll(() => startQuirkyServer('entra', 'https://not.asked.for/'));

  const last = async (scopes: readonly string[]): Promise<string | undefined> => {
    const { issuer, clientId, clientSecret } = entraLike;
    const credentials = { clientId, clientAuth: 'client_secret_post', clientSecret };
    return (await examined({ providers: providersWith({ issuer, backchannel: issuer, credentials, scopes }) })).at(-1);
  };

  test('knows the redirect URI if it sends people there', async () => {
    expect(await last(['openid'])).toBe(good.at(-1));
  });

  test('may refuse the scopes of a sign-in', async () => {
    expect(await last(['openid', 'Files.Read'])).toBe(
      'fail front_door.identity_providers.corporate: it answers a sign-in with the error "invalid_scope"',
    );
  });
});

test('says that it cannot see the registration where the provider shows a page', async () => {
  const page = await startHttp((request, response) => {
    const { url } = page;
    const endpoints = { authorization_endpoint: `${url}/auth`, token_endpoint: `${url}/token` };
    if (request.url === '/token') sendJson(response, 400, { error: 'invalid_grant' });
    else if (request.url === '/.well-known/openid-configuration')
      sendJson(response, 200, { issuer: url, ...endpoints });
    else response.end('<h1>Sign in</h1>');
  });
  onTestFinished(() => page.close());
  const lines = await examined({ providers: providersWith({ issuer: page.url, backchannel: page.url }) });
  expect(lines.at(-1)).toBe(
    'ok front_door.identity_providers.corporate: register the redirect URI ISSUER/callback/corporate there ' +
      '(whether it is cannot be seen without a sign-in)',
  );
});

test('examines the file of its keys, and creates none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-doctor-'));
  const [keys, open] = [join(folder, 'keys.json'), join(folder, 'open.json')];
  const keyLine = async (file: string | undefined, more: Partial<Config> = {}): Promise<string | undefined> =>
    (await examined({ keys: file }, more)).find((line) => line.includes('front_door.keys'))?.replaceAll(folder, 'DIR');
  const missing = 'ok front_door.keys: DIR/keys.json does not exist yet: the front door creates it';
  expect([await keyLine(keys), await keyLine(keys)]).toEqual([missing, missing]);
  expect(await keyLine(join(folder, 'none/keys.json'))).toBe(
    'fail front_door.keys: DIR/none/keys.json does not exist, and cannot be created (ENOENT)',
  );
  const secret = JSON.stringify({ secret: 'a'.repeat(64) });
  await writeFile(keys, secret, { mode: 0o600 });
  await writeFile(open, secret, { mode: 0o644 });
  expect(await keyLine(keys)).toBe('ok front_door.keys: DIR/keys.json has its secret, and is closed to other users');
  expect(await keyLine(open)).toMatch(/^fail .*DIR\/open\.json is open to others: chmod 600$/);
  expect(await keyLine(undefined, { sessionKey: undefined })).toMatch(/^warn .*as long as its process/);
});

test('examines issuers of assertions, and the way to documents', async () => {
  const issuer = { name: 'acme', provider: undefined, clients: [], scopes: [], claims: new Map() };
  const lines = await examined({
    assertions: new Map([
      ['acme', { ...issuer, issuer: world.provider.issuer, backchannel: world.provider.issuer }],
      ['gone', { ...issuer, name: 'gone', issuer: 'http://127.0.0.1:1024', backchannel: 'http://127.0.0.1:1024' }],
    ]),
    clients: {
      ...world.config.frontDoor.clients,
      metadataDocuments: ['https://localhost:1024/**', 'https://localhost:1024/a/**', 'https://127.0.0.1:1024/**'],
      documentAddresses: ['127.0.0.1/32'],
    },
  });
  expect(lines.filter((line) => /assertions|documents/.test(line))).toEqual([
    'ok front_door.assertions.acme: the metadata of IDP name its keys',
    'fail front_door.assertions.gone: http://127.0.0.1:1024 cannot be discovered (ECONNREFUSED)',
    expect.stringMatching(
      /^fail .*documents of https:\/\/localhost:1024 cannot be fetched \(.*(?:not public|refused|ECONNREFUSED)/i,
    ),
    expect.stringMatching(/^fail .*documents of https:\/\/127\.0\.0\.1:1024 cannot be fetched \(.*ECONNREFUSED/),
  ]);
});

describe('callers without a browser', () => {
  const platform = (answer: unknown) =>
    startHttp((_request, response) => sendJson(response, answer === undefined ? 404 : 200, answer ?? {}));
  const workload = (settings: object): FrontDoor['workloads'] =>
    new Map([
      [
        'job',
        {
          name: 'job',
          audience: 'a',
          claims: new Map(),
          scopes: [],
          subjects: [],
          issuer: 'https://a.example',
          ...settings,
        },
      ],
    ]) as unknown as FrontDoor['workloads'];
  const found = async (settings: object) =>
    (await examined({ workloads: workload(settings) })).filter((line) => line.includes('workloads.job'));
  const key = {
    kty: 'EC',
    crv: 'P-256',
    x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
    y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  };

  test('finds the keys of a platform, or why it has none', async () => {
    const [good, empty, gone] = [
      await forThisTest(platform({ keys: [key] })),
      await forThisTest(platform({ keys: [] })),
      await forThisTest(platform(undefined)),
    ];
    expect(await found({ jwks: good.url })).toEqual([`ok front_door.workloads.job: ${good.url} has 1 key`]);
    expect(await found({ jwks: empty.url })).toEqual([`fail front_door.workloads.job: ${empty.url} has no key`]);
    expect(await found({ jwks: gone.url })).toEqual([expect.stringMatching(/^fail .* cannot be asked for its keys/)]);
  });

  test.each([
    ['https://token.actions.githubusercontent.com', 'acme/*', 'repo:acme/*:**', 'GitHub'],
    ['https://token.actions.githubusercontent.com', 'system:x', 'repository_owner:acme:environment:prod', 'GitHub'],
    ['https://token.actions.githubusercontent.com/acme', 'acme/*', 'repo:acme@1/*:**', 'GitHub'],
    ['https://gitlab.com', 'acme/*', 'project_path:acme/*:**', 'GitLab'],
    ['https://kubernetes.default.svc', 'agents:*', 'system:serviceaccount:agents:*', 'Kubernetes'],
  ])('warns of a subject that %s never writes', async (issuer, odd, usual, name) => {
    const { url } = await forThisTest(platform({ keys: [key] }));
    const lines = await found({ issuer, jwks: url, subjects: [odd, usual] });
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([
      expect.stringContaining(`"${odd}" is no subject of ${name}`),
    ]);
  });

  test('finds the keys of a client, or that they cannot be read', async () => {
    const { url, close } = await forThisTest(platform({ keys: [key] }));
    const registered = new Map([['job', { jwksUri: url }]]) as unknown as FrontDoor['clients']['registered'];
    const lines = async () =>
      (await examined({ clients: { ...world.config.frontDoor.clients, registered } })).filter((line) =>
        line.includes('registered.job'),
      );
    expect(await lines()).toEqual([`ok front_door.clients.registered.job: ${url} has its keys`]);
    await close();
    expect(await lines()).toEqual([expect.stringMatching(/^fail .*cannot be reached/)]);
  });
});
