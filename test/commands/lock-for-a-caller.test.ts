import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { McpServer } from '@modelcontextprotocol/server';
import { obtainToken, registerClient } from '../../demo/obtain-token.ts';
import { folderWith } from '../serve/config/folder.ts';
import { apiAudience, mcpResource, start } from '../demo/authorization-server-requests.ts';
import { outcome, outcomeIn } from './run.ts';
import { mcpHandler, startHttp } from '../support/mcp-servers.ts';
import { startBeforeAll } from '../support/start-before.ts';

const server = startBeforeAll(start);
let token: string;
/** What the MCP server got as `Authorization`, and as `X-Auth-Subject`. */
let seen: (readonly [authorization: string | undefined, subject: unknown])[];
beforeEach(() => (seen = []));
beforeAll(async () => {
  const client = await registerClient(server.issuer);
  token = (await obtainToken({ issuer: server.issuer, client, user: 'alice', scope: 'read' })).accessToken;
});
/** Answers only the tokens that the server issues for the API. */
const upstream = startBeforeAll(async () => {
  const metadata = await fetch(`${server.issuer}/.well-known/openid-configuration`);
  const { jwks_uri: jwksUri } = (await metadata.json()) as { jwks_uri: string };
  const keys = createRemoteJWKSet(new URL(jwksUri));
  const mcp = mcpHandler(() => {
    const built = new McpServer({ name: 'x', version: '1' });
    built.registerTool('pay', { description: 'Pays.' }, () => ({ content: [] }));
    return built;
  });
  return startHttp(async (request, response) => {
    const { authorization, 'x-auth-subject': subject } = request.headers;
    seen.push([authorization, subject]);
    const token = authorization?.replace(/^Bearer /, '') ?? '';
    const isKnown =
      subject !== undefined || (await jwtVerify(token, keys, { audience: apiAudience }).catch(() => false));
    return isKnown === false ? response.writeHead(401).end() : mcp(request, response);
  });
});

const route = (name: string, settings: string): string =>
  `  - { name: ${name}, path: /${name}, protocol: mcp, audience: "${mcpResource}", policy: ${name}, ${settings} }`;
const url = (): string => `url: "${upstream.url}/mcp"`;
const exchange = (scope: string): string =>
  `upstream: { ${url()}, token: exchange, exchange: { audience: "${apiAudience}", scope: [${scope}] } }`;
const yaml = (...routes: readonly string[]): string => `public_url: http://127.0.0.1:8080
session_key: ${randomBytes(32).toString('base64')}
authorization_servers:
  main: { issuer: "${server.issuer}", introspection: { client_id: gateway, client_secret: gateway-secret } }
routes:
${routes.join('\n')}
`;
const files = (...names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [`policies/${name}.yaml`, 'lock: deny']));
const withToken = ['--token', '-'];

test('R-259: locks a server that refuses callers without credentials, for the caller of a token', async () => {
  const folder = await folderWith({ yaml: yaml(route('tools', exchange('read'))), files: files('tools') });
  const strange = await outcome(['lock'], folder);
  expect(strange).toEqual({
    code: 1,
    stdout: `fail ${upstream.url}/mcp answered 401: it demands credentials of its own; ask for a caller: sallyport lock --route tools --token - < token.txt\n`,
    stderr: '',
  });
  seen = [];
  const locked = await outcome(['lock', ...withToken], folder, { stdin: `${token}\n` });
  expect(locked).toEqual({
    code: 0,
    stdout:
      'ok   policies/tools.lock.yaml: tool "pay" is new\n' +
      'ok   policies/tools.lock.yaml: 1 tool, 0 prompts, no instructions\n',
    stderr: '',
  });
  expect(seen.length).toBeGreaterThan(0);
  // The token is for the gateway alone.
  for (const [authorization] of seen) expect(authorization).not.toBe(`Bearer ${token}`);
  expect(await readFile(join(folder, 'policies/tools.lock.yaml'), 'utf8')).not.toContain(token);
  const args = ['lock', '--check', '--route', 'tools', ...withToken];
  expect(await outcome(args, folder, { stdin: token })).toMatchObject({ code: 0 });
});

test('R-259: presents the identity headers of the route', async () => {
  const settings = `upstream: { ${url()}, identity: { x-auth-subject: sub, signed: x-identity } }`;
  expect(
    await outcomeIn({ yaml: yaml(route('tools', settings)), files: files('tools') }, ['lock', ...withToken], {
      stdin: token,
    }),
  ).toMatchObject({ code: 0 });
  for (const each of seen) expect(each).toEqual([undefined, 'alice']);
});

test('R-259: asks nothing with a token that the route refuses, or that it could not present', async () => {
  const routes = yaml(
    route('tools', exchange('read')),
    route('plain', `upstream: { ${url()} }`),
    route('more', exchange('read, write')),
  );
  const folder = await folderWith({ yaml: routes, files: files('tools', 'plain', 'more') });
  const results = await Promise.all(
    (
      [
        ['tools', 'unknown'],
        ['plain', token],
        ['more', token],
      ] as const
    ).map(([name, stdin]) => outcome(['lock', '--route', name, ...withToken], folder, { stdin })),
  );
  expect(results.map(({ code }) => code)).toEqual([1, 1, 1]);
  expect(results.map(({ stdout }) => stdout)).toEqual([
    expect.stringMatching(/^fail routes\.tools refuses the token: token\.inactive: .*\n$/),
    'fail routes.plain presents no caller to its upstream: omit --token\n',
    expect.stringMatching(/^fail routes\.more refuses the token: exchange\.insufficient_scope: .*\n$/),
  ]);
  expect(seen).toEqual([]);
  const plain = await outcome(['lock', '--route', 'plain'], folder);
  expect(plain.stdout).toMatch(
    /its own; disable its own authorization, or set upstream\.token or upstream\.headers\n$/,
  );
});

test('a wrong use of --token and --route shows no token', async () => {
  const routes = yaml(route('tools', exchange('read')), route('more', exchange('read')));
  const usage = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await outcomeIn(
      { yaml: routes, files: files('tools', 'more') },
      ['lock', ...args],
      { stdin: token },
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    return stderr.replace('; see sallyport help lock\n', '');
  };
  expect(await usage('--token', `x${token}`)).toBe('sallyport: --token takes only -, and reads the token from stdin');
  expect(await usage(...withToken)).toBe('sallyport: --token needs --route, one of tools, more');
  expect(await usage('--route', 'other')).toBe('sallyport: --route: "other" has no lock; these have: tools, more');
});
