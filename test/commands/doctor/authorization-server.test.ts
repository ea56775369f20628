import { describe, expect, onTestFinished, test } from 'vitest';
import { examineServer } from '../../../src/commands/doctor/authorization-server.ts';
import type { Finding } from '../../../src/capabilities/finding.ts';
import { examineClock } from '../../../src/commands/doctor/doctor.ts';
import { loaded } from '../../serve/config/folder.ts';
import { createKey, startIssuer } from '../../support/issuer.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { startBeforeEach } from '../../support/start-before.ts';
import { sendJson } from '../../support/upstream.ts';
import { linesOf } from './found.ts';

const issuer = startBeforeEach(startIssuer);
const policy = 'scope: read\ntools: { get: {}, pay: { scope: payments } }\n';

async function configured(settings = 'jwt: { algorithms: [RS256] }', url = issuer.url, ofRoute = '', more = '') {
  return loaded({
    yaml: `public_url: http://127.0.0.1:8080
authorization_servers: { main: { issuer: "${url}", ${settings} } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, resource: {}, policy: tools, ${ofRoute}upstream: { url: "http://127.0.0.1:9" } }
${more}`,
    files: { 'policies/tools.yaml': policy },
  });
}

async function findings(...settings: Parameters<typeof configured>): Promise<readonly Finding[]> {
  const config = await configured(...settings);
  const [server] = config.authorizationServers.values();
  if (server === undefined) throw new Error('no server');
  return examineServer(server, config);
}

async function examined(...settings: Parameters<typeof configured>): Promise<readonly string[]> {
  return linesOf(findings(...settings));
}

/** Answers each request whose URL has this in it with JSON. */
function answer(within: string, document: object): void {
  issuer.intercept = ({ url = '' }, response) => {
    if (!url.includes(within)) return false;
    sendJson(response, 200, document);
    return true;
  };
}

/** Adds members to the metadata, or replaces them. */
function publish(more: object): void {
  const { url } = issuer;
  const metadata = { issuer: url, jwks_uri: `${url}/jwks`, introspection_endpoint: `${url}/introspect` };
  answer('/.well-known/oauth-authorization-server', { ...metadata, ...more });
}

const introspection = (secret: string) =>
  `introspection: { client_id: gateway, client_secret: ${secret}, client_auth: client_secret_post }`;

test('a real server that is set up well has no failure', async () => {
  const provider = await startOidcProvider([
    { client_id: 'gateway', client_secret: 'right-secret', token_endpoint_auth_method: 'client_secret_post' },
  ]);
  onTestFinished(() => provider.close());
  const settings = `jwt: { algorithms: [RS256, ES256] }, ${introspection('right-secret')}`;
  expect(await examined(settings, provider.issuer)).toEqual([
    `ok authorization_servers.main: its metadata names the issuer ${provider.issuer}`,
    'ok authorization_servers.main: it supports PKCE with S256',
    'warn authorization_servers.main: it offers neither client metadata documents nor dynamic registration',
    'ok authorization_servers.main: its keys fit jwt.algorithms: RS256, ES256',
    'ok authorization_servers.main: introspection accepts the credentials of the gateway ' +
      '(with --token - doctor sees whether it shows the gateway the tokens of other clients, and their aud)',
  ]);
  const wrong = await findings(introspection('wrong-secret'), provider.issuer);
  expect(wrong.at(-1)).toMatchObject({
    status: 'fail',
    text: 'introspection answered 401: it refuses the credentials of gateway',
    remedy: 'check client_id, client_auth and the secret: no spelling of them is accepted',
  });
});

test('https where the server answers plain HTTP has that remedy', async () => {
  const [found] = await findings(undefined, issuer.url.replace('http:', 'https:'));
  expect(found).toMatchObject({ status: 'fail', remedy: expect.stringContaining('write http://') as string });
});

describe('metadata', () => {
  test('that name another issuer have the remedy to write it', async () => {
    publish({ issuer: `${issuer.url}/` });
    expect((await findings())[0]).toEqual({
      status: 'fail',
      subject: 'authorization_servers.main',
      text: `${issuer.url}/.well-known/oauth-authorization-server names the issuer "${issuer.url}/", not "${issuer.url}"`,
      remedy: `write issuer: "${issuer.url}/", with the slash at its end`,
    });
    expect((await findings(undefined, `${issuer.url}/`)).at(0)?.status).toBe('ok');
    publish({ issuer: issuer.url });
    expect((await findings(undefined, `${issuer.url}/`))[0]?.remedy).toBe(
      `write issuer: "${issuer.url}", without the slash at its end`,
    );
    publish({ issuer: 'https://as.example' });
    expect((await findings())[0]?.remedy).toBe(
      'write issuer: "https://as.example" if this is the server that you mean, and backchannel with the URL that you have now',
    );
  });

  test('of a server that is down fail, once', async () => {
    const url = 'http://127.0.0.1:9';
    const settings = `jwt: { algorithms: [RS256] }, ${introspection('s')}`;
    expect(await examined(settings, url)).toEqual([
      expect.stringMatching(/^fail authorization_servers\.main: .*ECONNREFUSED/),
    ]);
  });

  const rs256 = 'jwt: { algorithms: [RS256] }';
  const ours = 'http://127.0.0.1:8080/mcp';
  test.for<[title: string, published: object, line: string | RegExp, settings?: string]>([
    [
      'without S256 fail, since MCP clients then refuse',
      { code_challenge_methods_supported: ['plain'] },
      /^fail .* do not list S256/,
    ],
    ['with documents', { client_id_metadata_document_supported: true }, /^ok .*client metadata documents/],
    ['with registration', { registration_endpoint: 'http://x/r' }, /^ok .*dynamic registration/],
    ['with neither warn', {}, /^warn .*neither client metadata documents nor dynamic registration/],
    ['that list our resource are ok', { protected_resources: [ours] }, `it lists the resource ${ours}`],
    [
      'that list other resources warn',
      { protected_resources: ['http://elsewhere'] },
      /^warn .*: its protected_resources lack http:\/\/127\.0\.0\.1:8080\/mcp$/,
    ],
    [
      'with registration name the scopes of a later challenge as clients request them',
      { registration_endpoint: 'http://x/r', code_challenge_methods_supported: ['S256'] },
      'route tools asks for api://tools/payments only later',
      `${rs256}, scope_prefix: "api://tools/"`,
    ],
  ])('%s', async ([, published, line, settings]) => {
    publish(published);
    expect(await examined(settings)).toContainEqual(expect.stringMatching(line));
  });

  test('of Entra ID fail without scope_prefix, and its remedies are not to enable something there', async () => {
    const entra = 'https://login.microsoftonline.com/tenant/v2.0';
    answer('/.well-known/', { issuer: entra, jwks_uri: `${issuer.url}/jwks` });
    const settings = `backchannel: "${issuer.url}", ${rs256}`;
    const found = await findings(settings, entra);
    const failed = found.filter(({ status }) => status === 'fail').map(({ text, remedy }) => [text, remedy]);
    expect(failed).toEqual([
      [
        'its metadata do not list S256 in code_challenge_methods_supported',
        'MCP clients refuse to sign in without it: let the routes trust the front door',
      ],
      [
        'policies ask for read payments, and Microsoft Entra ID takes a scope without a prefix for one of another API',
        'set scope_prefix: "api://CLIENT_ID/", with the id of your API',
      ],
    ]);
    const prefixed = await examined(`${settings}, scope_prefix: "api://tools/"`, entra);
    expect(prefixed.filter((line) => line.includes('prefix'))).toEqual([]);
  });

  test('with registration are one warning where a later challenge asks for more than the first', async () => {
    const line = (routes: string) =>
      `warn authorization_servers.main: clients register, and ${routes} asks for payments only later`;
    const more = (settings: string) =>
      `  - { name: more, path: /more, protocol: mcp, resource: { scopes_supported: [read, payments] }, policy: tools, ${settings}upstream: { url: "http://127.0.0.1:9" } }\n`;
    publish({ registration_endpoint: 'http://x/r' });
    expect(await examined()).toContain(line('route tools'));
    const both = await examined(undefined, undefined, '', more(''));
    expect(both).toContain(line('route tools asks for payments and route more'));
    const supported = await examined(undefined, undefined, '', more('first_challenge: supported, '));
    expect(supported).toContain(line('route tools'));
    publish({ registration_endpoint: 'http://x/r', client_id_metadata_document_supported: true });
    expect(await examined()).not.toContain(line('route tools'));
  });

  test('with introspection are a warning where only jwt is configured, unless tokens says so', async () => {
    const line =
      'warn authorization_servers.main: it can introspect tokens, and only jwt is configured: ' +
      'the gateway refuses its opaque tokens (token.form)';
    expect(await examined()).toContain(line);
    expect(await examined(`jwt: { algorithms: [RS256] }, ${introspection('s')}`)).not.toContain(line);
    expect(await examined(undefined, undefined, 'tokens: [jwt], ')).not.toContain(line);
    publish({ introspection_endpoint: undefined });
    expect(await examined()).not.toContain(line);
  });
});

test.for<[title: string, line: string | RegExp, algorithm?: string, publishKeys?: () => unknown]>([
  [
    'for no accepted algorithm fail',
    'fail authorization_servers.main: it publishes keys for RS256; jwt.algorithms accepts ES256',
    'ES256',
  ],
  [
    'for an algorithm that is not accepted warn',
    'warn authorization_servers.main: it also publishes keys for ES256, which jwt.algorithms does not accept',
    'RS256',
    async () => (issuer.keys = [...issuer.keys, (await createKey('k2', 'ES256')).publicJwk]),
  ],
  ['that cannot be read fail', /^fail .* is not a JWK Set/, 'RS256', () => (issuer.keys = {} as never)],
])('keys %s', async ([, line, algorithm, publishKeys]) => {
  await publishKeys?.();
  expect((await examined(`jwt: { algorithms: [${algorithm}] }`)).at(-1)).toEqual(expect.stringMatching(line));
});

describe('a correct secret that introspection refuses has the remedy that works', () => {
  const secret = 's:3 cr%t';
  const bodyHas = (body: string): boolean => new URLSearchParams(body).get('client_secret') === secret;
  const headerHas = (authorization: string | undefined, read: string): boolean =>
    authorization === `Basic ${Buffer.from(`gateway:${read}`).toString('base64')}`;
  const inBody = 'it accepts the same secret in the body: set client_auth: client_secret_post';
  const inHeader = 'it accepts the same secret in the header: set client_auth: client_secret_basic';

  test.for<[string, string, (authorization: string | undefined, body: string) => boolean, string]>([
    ['a server that reads bodies', 'client_secret_basic', (_, body) => bodyHas(body), inBody],
    ['a server that reads headers', 'client_secret_post', (header) => headerHas(header, 's%3A3%20cr%25t'), inHeader],
    [
      'a server that does not decode',
      'client_secret_basic',
      (header) => headerHas(header, secret),
      'it does not form-decode Basic credentials (RFC 6749 §2.3.1): choose a client_id and a secret of letters and digits',
    ],
    [
      'a server that knows another secret',
      'client_secret_basic',
      () => false,
      'check client_id, client_auth and the secret: no spelling of them is accepted',
    ],
  ])('%s', async ([, clientAuth, accepts, remedy]) => {
    issuer.answerAt('/introspect', ({ headers }, response, body) => {
      const isKnown = accepts(headers.authorization, body);
      sendJson(response, isKnown ? 200 : 401, isKnown ? { active: false } : { error: 'invalid_client' });
    });
    const client = `client_id: gateway, client_secret: ${JSON.stringify(secret)}, client_auth: ${clientAuth}`;
    expect((await findings(`introspection: { ${client} }`)).at(-1)).toMatchObject({ status: 'fail', remedy });
  });
});

test('a key that others can sign for is a warning of its own', async () => {
  issuer.keys = [...issuer.keys, { ...issuer.key.publicJwk, kid: 'weak', e: 'AQ' }];
  expect((await examined()).slice(-2)).toEqual([
    'warn authorization_servers.main: its key "weak" has the exponent 1, an odd one of at least 3 is required: ' +
      'the gateway does not use it',
    'ok authorization_servers.main: its keys fit jwt.algorithms: RS256',
  ]);
});

test('introspection that calls a made-up token active fails', async () => {
  answer('/introspect', { active: true, aud: 'a', sub: 'x' });
  expect((await examined(introspection('s3cr3t'))).at(-1)).toBe(
    'fail authorization_servers.main: its introspection calls a made-up token active',
  );
});

describe('clock', () => {
  test.for([
    [0, /^ok clock: the clock differs from that of main by 0 s$/],
    // Less by what the request takes.
    [-90_000, /^fail clock: the clock differs from that of main by (?:8\d|90) s; clock_tolerance is 5 s$/],
    [90_000, /^fail clock: the clock differs from that of main by (?:8\d|90) s; clock_tolerance is 5 s$/],
  ] as const)('%i ms off', async ([off, line]) => {
    issuer.intercept = (_, response) => {
      response.setHeader('date', new Date(Date.now() + off).toUTCString()).end();
      return true;
    };
    expect(await linesOf(examineClock(await configured()))).toEqual([expect.stringMatching(line)]);
  });

  test('of a server without Date, or that is down, is no finding', async () => {
    issuer.intercept = (_, response) => {
      response.sendDate = false;
      response.end();
      return true;
    };
    expect(await linesOf(examineClock(await configured()))).toEqual([]);
    expect(await linesOf(examineClock(await configured(undefined, 'http://127.0.0.1:9')))).toEqual([]);
  });
});
