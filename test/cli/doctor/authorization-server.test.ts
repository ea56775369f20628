import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { examineServer } from '../../../src/cli/doctor/authorization-server.ts';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { examineClock } from '../../../src/cli/doctor/doctor.ts';
import { loaded } from '../../config/folder.ts';
import { createKey, startIssuer, type Issuer } from '../../support/issuer.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { linesOf } from './found.ts';

let issuer: Issuer;
beforeEach(async () => {
  issuer = await startIssuer();
});
afterEach(() => issuer.close());

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

/** Adds members to the metadata, or replaces them. */
function publish(more: object): void {
  issuer.intercept = (request, response) => {
    if (request.url !== '/.well-known/oauth-authorization-server') return false;
    const metadata = {
      issuer: issuer.url,
      jwks_uri: `${issuer.url}/jwks`,
      introspection_endpoint: `${issuer.url}/introspect`,
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...metadata, ...more }));
    return true;
  };
}

const introspection = (secret: string) =>
  `introspection: { client_id: gateway, client_secret: ${secret}, client_auth: client_secret_post }`;

test('a real server that is set up well has no failure', async () => {
  const provider = await startOidcProvider([
    { client_id: 'gateway', client_secret: 'right-secret', token_endpoint_auth_method: 'client_secret_post' },
  ]);
  try {
    const settings = `jwt: { algorithms: [RS256, ES256] }, ${introspection('right-secret')}`;
    expect(await examined(settings, provider.issuer)).toEqual([
      `ok authorization_servers.main: its metadata names the issuer ${provider.issuer}`,
      'ok authorization_servers.main: it supports PKCE with S256',
      'warn authorization_servers.main: it offers neither client metadata documents nor dynamic registration',
      'ok authorization_servers.main: its keys fit jwt.algorithms: RS256, ES256',
      'ok authorization_servers.main: introspection accepts the credentials of the gateway',
    ]);
    const wrong = await examined(introspection('wrong-secret'), provider.issuer);
    expect(wrong.at(-1)).toMatch(/^fail .*introspection answered 401; check introspection.client_id/);
  } finally {
    await provider.close();
  }
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

  test('without S256 fail, since MCP clients then refuse', async () => {
    publish({ code_challenge_methods_supported: ['plain'] });
    expect((await examined())[1]).toMatch(/^fail .* do not list S256/);
  });

  test.for([
    [{ client_id_metadata_document_supported: true }, 'ok', 'client metadata documents'],
    [{ registration_endpoint: 'http://x/r' }, 'ok', 'dynamic registration'],
    [{}, 'warn', 'neither client metadata documents nor dynamic registration'],
  ] as const)('%j: registration is %s', async ([more, status, text]) => {
    publish(more);
    const line = (await examined())[2];
    expect(line).toMatch(new RegExp(`^${status} `));
    expect(line).toContain(text);
  });

  test('of Entra ID fail without scope_prefix, and its remedies are not to enable something there', async () => {
    const entra = 'https://login.microsoftonline.com/tenant/v2.0';
    issuer.intercept = ({ url }, response) => {
      if (url?.includes('/.well-known/') !== true) return false;
      const document = { issuer: entra, jwks_uri: `${issuer.url}/jwks` };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
      return true;
    };
    const settings = `backchannel: "${issuer.url}", jwt: { algorithms: [RS256] }`;
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

  test('with registration name the scopes of a later challenge as clients request them', async () => {
    publish({ registration_endpoint: `${issuer.url}/register`, code_challenge_methods_supported: ['S256'] });
    const lines = await examined('jwt: { algorithms: [RS256] }, scope_prefix: "api://tools/"');
    expect(lines).toContainEqual(expect.stringContaining('route tools asks for api://tools/payments only later'));
  });

  test('that list resources, but not ours, are a warning', async () => {
    publish({ protected_resources: ['http://127.0.0.1:8080/mcp'] });
    expect(await examined()).toContain(
      'ok authorization_servers.main: it lists the resource http://127.0.0.1:8080/mcp',
    );
    publish({ protected_resources: ['http://elsewhere'] });
    expect(await examined()).toContain(
      'warn authorization_servers.main: its protected_resources lack http://127.0.0.1:8080/mcp',
    );
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

describe('keys', () => {
  test('for no accepted algorithm fail', async () => {
    expect((await examined('jwt: { algorithms: [ES256] }')).at(-1)).toBe(
      'fail authorization_servers.main: it publishes keys for RS256; jwt.algorithms accepts ES256',
    );
  });

  test('for an algorithm that is not accepted are a warning', async () => {
    issuer.keys = [...issuer.keys, (await createKey('k2', 'ES256')).publicJwk];
    expect((await examined()).at(-1)).toBe(
      'warn authorization_servers.main: it also publishes keys for ES256, which jwt.algorithms does not accept',
    );
  });

  test('that cannot be read fail', async () => {
    issuer.keys = {} as never;
    expect((await examined()).at(-1)).toMatch(/^fail .* is not a JWK Set/);
  });
});

test('introspection that calls a made-up token active fails', async () => {
  issuer.intercept = (request, response) => {
    if (request.url !== '/introspect') return false;
    response.setHeader('content-type', 'application/json').end('{"active":true,"aud":"a","sub":"x"}');
    return true;
  };
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
