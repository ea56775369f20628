/** `sallyport token` at a real front door, and at servers that are wrong. */
import { readFile } from 'node:fs/promises';
import { exportJWK, exportPKCS8 } from 'jose';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { generateKey, startIssuer } from '../support/issuer.ts';
import { startHttp } from '../support/mcp-servers.ts';
import { keepSecret } from '../support/secrecy.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';
import { folderWith } from '../serve/config/folder.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { outcome } from './run.ts';

const secret = 'the-secret-of-the-report-job';
keepSecret(secret);
const keys = startBeforeAll(async () => startIssuer(0, await generateKey('k1', 'ES256')));
const world = startBeforeAll(() =>
  startFrontDoorWorld({
    frontDoor: `clients:
    registered:
      report: { client_secret: ${secret}, grants: [client_credentials], scopes: [read, write] }
      signer: { client_auth: private_key_jwt, jwks_uri: "${keys.url}/jwks", grants: [client_credentials], scopes: [read] }
  workloads:
    job: { issuer: "${keys.url}", jwks: "${keys.url}/jwks", subjects: [job-1], scopes: [read] }`,
    scopes: '{ read: { title: Read }, write: { title: Write } }',
    policy: 'scope: read\ntools: { "list_*": {} }\n',
  }),
);

const run = async (args: readonly string[], files: Record<string, string> = {}, stdin?: string) =>
  outcome(
    ['token', '--issuer', world.issuer, ...args],
    await folderWith({ yaml: '', files }),
    stdin === undefined ? {} : { stdin },
  );

/** What a command ended with, and the status of a call by the token that it printed, alone on a line. */
async function used({ code, stdout, stderr }: Awaited<ReturnType<typeof run>>): Promise<object> {
  return { code, stderr, status: /^[!-~]+\n$/.test(stdout) ? await world.listTools(stdout.trim()) : stdout };
}
const good = { code: 0, stderr: '', status: 200 };

describe('prints a token, and nothing else, by', () => {
  test('a secret on stdin', async () => {
    expect(await used(await run(['--client', 'report', '--client-secret', '-'], {}, `${secret}\n`))).toEqual(good);
    const resource = world.mcpUrl.href;
    const more = ['--resource', resource, '--scope', 'read write'];
    expect(await used(await run(['--client', 'report', '--client-secret', '-', ...more], {}, secret))).toEqual(good);
  });

  test.each(['PEM', 'JWK'])('a key, as %s', async (form) => {
    const { privateKey } = keys.key;
    const text = form === 'PEM' ? await exportPKCS8(privateKey) : JSON.stringify(await exportJWK(privateKey));
    expect(await used(await run(['--client', 'signer', '--key', 'key'], { key: text }))).toEqual(good);
  });

  test('the token of a platform', async () => {
    const jwt = await keys.sign({ sub: 'job-1', aud: world.issuer }, { header: { typ: 'JWT' } });
    expect(await used(await run(['--workload', 'jwt'], { jwt: `${jwt}\n` }))).toEqual(good);
  });
});

describe('fails', () => {
  test.each<[title: string, args: readonly string[], stderr: RegExp]>([
    ['with a wrong secret', ['--client', 'report', '--client-secret', '-'], /answered 401 invalid_client/],
    [
      'for a scope that the client may not have',
      ['--client', 'report', '--client-secret', '-', '--scope', 'x'],
      /401|scope/,
    ],
    ['without the file', ['--workload', 'none'], /none: does not exist/],
    ['with a file that is no key', ['--client', 'signer', '--key', 'gateway.yaml'], /gateway\.yaml: /],
    ['for a client without the grant', ['--client', 'report', '--device'], /device grant/],
  ])('%s', async (_title, args, stderr) => {
    const failed = await run(args, {}, 'guessed');
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(stderr);
  });

  test('at a server whose metadata name another issuer, or that redirects, and sends it nothing', async () => {
    const posts: string[] = [];
    const other = await forThisTest(
      startHttp((request, response) => {
        if (request.method === 'POST') posts.push(String(request.url));
        sendJson(response, 200, { issuer: world.issuer, token_endpoint: `${world.issuer}/token` });
      }),
    );
    const away = await forThisTest(
      startHttp((_request, response) => response.writeHead(302, { location: world.issuer }).end()),
    );
    for (const [{ url }, why] of [
      [other, 'names another issuer'],
      [away, 'answered with a redirect'],
    ] as const) {
      const args = ['token', '--issuer', url, '--client', 'report', '--client-secret', '-'];
      const failed = await outcome(args, process.cwd(), { stdin: secret });
      expect(failed).toMatchObject({ code: 1, stdout: '' });
      expect(failed.stderr).toContain(why);
    }
    expect(posts).toEqual([]);
  });

  test('where a token endpoint redirects, which gets the secret and leads nowhere', async () => {
    const server = await forThisTest(
      startHttp((request, response) => {
        if (request.method === 'POST') return void response.writeHead(307, { location: `${world.issuer}/token` }).end();
        const issuer = `http://${request.headers.host}`;
        sendJson(response, 200, { issuer, token_endpoint: `${issuer}/token` });
      }),
    );
    const args = ['token', '--issuer', server.url, '--client', 'report', '--client-secret', '-'];
    expect(await outcome(args, process.cwd(), { stdin: secret })).toMatchObject({ code: 1, stdout: '' });
  });
});

describe('wrong usage', () => {
  test.each<[args: readonly string[], stderr: RegExp]>([
    [[], /exactly one of/],
    [['--client', 'a'], /exactly one of/],
    [['--client', 'a', '--device', '--key', 'k'], /exactly one of/],
    [['--workload', 'w', '--device', '--client', 'a'], /exactly one of/],
    [['--device'], /--device needs --client/],
    [['--key', 'k'], /--key needs --client/],
    [['--workload', 'w', '--client', 'a'], /--client does not apply/],
    [['--client', 'a', '--client-secret', 's3cr3t-on-the-command-line'], /takes only -/],
  ])('%j', async (args, stderr) => {
    const wrong = await run(args);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toMatch(stderr);
    expect(wrong.stderr).not.toContain('s3cr3t');
  });

  test('an issuer that is no URL, or none', async () => {
    for (const args of [
      ['--device', '--client', 'a'],
      ['--issuer', 'signin', '--device', '--client', 'a'],
    ])
      expect((await outcome(['token', ...args])).code).toBe(2);
  });
});

describe('docs/callers.md', () => {
  test.each(['# in the workflow', '# in the cluster'])('has a recipe that gets a token: %s', async (begin) => {
    const page = await readFile(new URL('../../docs/callers.md', import.meta.url), 'utf8');
    const block = page.split('```yaml\n').find((each) => each.startsWith(begin)) ?? '';
    expect(parse(block.slice(0, block.indexOf('```')))).toBeTypeOf('object');
    const [, command = ''] = /TOKEN=\$\((?:npx -y )?(sallyport token .*)\)$/m.exec(block) ?? [];
    const jwt = await keys.sign({ sub: 'job-1', aud: world.issuer }, { header: { typ: 'JWT' } });
    const folder = await folderWith({ yaml: '', files: { jwt } });
    const args = command
      .replace('https://signin.example.com', world.issuer)
      .replace(/--workload \S+/, '--workload jwt');
    expect(await used(await outcome(args.split(' ').slice(1), folder))).toEqual(good);
  });

  test('has commands whose options exist', async () => {
    const page = await readFile(new URL('../../docs/callers.md', import.meta.url), 'utf8');
    const lines = [...page.matchAll(/^sallyport (token .*)$/gm)].map(([, line = '']) => line);
    expect(lines).toHaveLength(4);
    for (const line of lines) {
      const args = line.replace('https://signin.example.com', 'http://127.0.0.1:1').replace(/ < .*/, '').split(' ');
      expect((await outcome(args, process.cwd(), { stdin: secret })).code).toBe(1);
    }
  });
});
