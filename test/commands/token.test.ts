/** `sallyport token` at a real front door, and at servers that are wrong. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { exportJWK, exportPKCS8 } from 'jose';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { listen } from '../../demo/listen.ts';
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

  test('where an https server names an endpoint of plain http, and sends it nothing', async () => {
    const posts: string[] = [];
    const plain = await forThisTest(startHttp((request) => void posts.push(String(request.url))));
    const folder = new URL('../support/certificates/', import.meta.url);
    const [cert, key] = await Promise.all(
      ['server.pem', 'server-key.pem'].map((name) => readFile(new URL(name, folder))),
    );
    const server = createServer({ cert, key }, ({ headers }, response) =>
      sendJson(response, 200, { issuer: `https://${headers.host}`, token_endpoint: `${plain.url}/token` }),
    );
    const { url, close } = await listen(server, 0);
    const issuer = url.replace('http://127.0.0.1', 'https://localhost');
    const args = ['bin/sallyport.js', 'token', '--issuer', issuer, '--client', 'report', '--client-secret', '-'];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: new URL('ca.pem', folder).pathname };
    const program = spawn(process.execPath, args, { env });
    program.stdin.end(secret);
    const [stdout, stderr, [code]] = await Promise.all([
      text(program.stdout),
      text(program.stderr),
      once(program, 'close'),
    ]);
    expect({ code, stdout, posts }).toEqual({ code: 1, stdout: '', posts: [] });
    expect(stderr).toContain('token_endpoint is not https: http://127.0.0.1');
    await close();
  });
});

describe('a device', () => {
  test('waits longer while there is no answer, and then gets its token', async () => {
    const polls: number[] = [];
    const server = await forThisTest(
      startHttp((request, response) => {
        const issuer = `http://${request.headers.host}`;
        if (request.url === '/device')
          return sendJson(response, 200, {
            device_code: 'd',
            user_code: 'u',
            verification_uri: issuer,
            interval: 0.05,
          });
        if (request.method === 'GET')
          return sendJson(response, 200, {
            issuer,
            token_endpoint: `${issuer}/token`,
            device_authorization_endpoint: `${issuer}/device`,
          });
        polls.push(performance.now());
        if (polls.length === 1) return void request.socket.destroy();
        if (polls.length < 4)
          return sendJson(response, [429, 503][polls.length - 2] ?? 0, { error: 'temporarily_unavailable' });
        return sendJson(response, 200, { access_token: 'the-token-of-the-device' });
      }),
    );
    const args = ['token', '--issuer', server.url, '--client', 'tv', '--device'];
    expect(await outcome(args)).toMatchObject({ code: 0, stdout: 'the-token-of-the-device\n' });
    // 50 ms doubled three times. A timer may be late, never early by more than rounding.
    expect((polls[3] ?? 0) - (polls[2] ?? 0)).toBeGreaterThan(395);
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
  const page = readFileSync(new URL('../../docs/callers.md', import.meta.url), 'utf8');
  const jwt = () => keys.sign({ sub: 'job-1', aud: world.issuer }, { header: { typ: 'JWT' } });

  /** The parsed example that begins with a comment. */
  function example(comment: string): unknown {
    const block = page.split('```yaml\n').find((each) => each.startsWith(comment)) ?? '';
    return parse(block.slice(0, block.indexOf('```')));
  }

  /** Runs a script as a shell does that finds `sallyport`, and a `report` that calls by the token that it gets. */
  async function runScript(shell: readonly string[], script: string, files: Record<string, string>, env: object = {}) {
    const sallyport = `exec ${process.execPath} ${fileURLToPath(new URL('../../bin/sallyport.js', import.meta.url))}`;
    const folder = await folderWith({
      yaml: '',
      files: {
        'bin/sallyport': `#!/bin/sh\n${sallyport} "$@"\n`,
        'bin/npx': `#!/bin/sh\n[ "$1 $2" = "--no sallyport" ] && shift 2 && ${sallyport} "$@"\n`,
        'bin/report': '#!/bin/sh\nprintf "reported <%s>" "$1"\n',
        ...files,
      },
    });
    for (const name of ['sallyport', 'npx', 'report']) await chmod(join(folder, 'bin', name), 0o755);
    const [program = '', ...args] = shell;
    const child = spawn(program, [...args, script], {
      cwd: folder,
      env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, ...env },
    });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code, stdout, stderr };
  }

  const here = (script: string) =>
    script
      .replaceAll('https://signin.example.com', world.issuer)
      .replaceAll('https://mcp.example.com/mcp', world.mcpUrl.href)
      .replaceAll('/var/run/secrets/sallyport/token', 'projected')
      .replaceAll('/etc/report.pem', 'key');

  test.skipIf(!['curl', 'jq'].every((name) => existsSync(`/usr/bin/${name}`)))(
    'has a job of GitHub Actions that lists tools',
    async () => {
      const token = await jwt();
      const asked: (string | undefined)[] = [];
      const runner = await forThisTest(
        startHttp((request, response) => {
          asked.push(request.headers.authorization, request.url);
          sendJson(response, 200, { count: 1, value: token });
        }),
      );
      const { steps } = example('# in the workflow') as {
        steps: readonly { readonly name?: string; readonly run: string }[];
      };
      const step = steps.find(({ name }) => name === 'Call a tool');
      const env = {
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-runner',
        ACTIONS_ID_TOKEN_REQUEST_URL: `${runner.url}/token?api-version=2.0`,
      };
      // The shell of a step, as GitHub starts it.
      const ran = await runScript(['bash', '-e', '-c'], here(step?.run ?? ''), {}, env);
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('list_accounts') });
      expect(ran.stdout).toMatch(/^::add-mask::\S+$/m);
      expect(asked).toEqual(['Bearer of-the-runner', `/token?api-version=2.0&audience=${world.issuer}`]);
    },
  );

  test('has a CronJob of Kubernetes that reports with its token, and not without one', async () => {
    const job = example('# in the cluster') as {
      spec: {
        jobTemplate: { spec: { template: { spec: { containers: readonly { command: string[]; args: string[] }[] } } } };
      };
    };
    const [container] = job.spec.jobTemplate.spec.template.spec.containers;
    const run = (files: Record<string, string>) =>
      runScript(container?.command ?? [], here(container?.args[0] ?? ''), files);
    const reported = await run({ projected: await jwt() });
    const [, token] = /^reported <(\S+)>$/.exec(reported.stdout) ?? [];
    expect(await world.listTools(token)).toBe(200);
    const failed = await run({});
    expect([failed.code, failed.stdout]).toEqual([1, '']);
  });

  test('has a line of a crontab that reports with its token, and not without one', async () => {
    const [, line = ''] = /^0 3 \* \* \* (.*)$/m.exec(page) ?? [];
    const script = here(line).replace('--client nightly-report', '--client signer');
    const reported = await runScript(['sh', '-c'], script, { key: await exportPKCS8(keys.key.privateKey) });
    expect(await world.listTools(/^reported <(\S+)>$/.exec(reported.stdout)?.[1])).toBe(200);
    const failed = await runScript(['sh', '-c'], script, {});
    expect([failed.code, failed.stdout]).toEqual([1, '']);
  });

  test('has commands whose options exist', async () => {
    const lines = [...page.matchAll(/^sallyport (token .*)$/gm)].map(([, line = '']) => line);
    expect(lines).toHaveLength(4);
    for (const line of lines) {
      const args = line.replace('https://signin.example.com', 'http://127.0.0.1:1').replace(/ < .*/, '').split(' ');
      expect((await outcome(args, process.cwd(), { stdin: secret })).code).toBe(1);
    }
  });
});
