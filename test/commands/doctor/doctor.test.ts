import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/serve/config/load.ts';
import { start } from '../../../src/serve/start.ts';
import { folderWith } from '../../serve/config/folder.ts';
import { createWrittenLog } from '../../support/written-log.ts';
import { outcome, outcomeIn } from '../run.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startHttp } from '../../support/mcp-servers.ts';
import { freePort } from '../../support/ports.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const issuer = startBeforeAll(startIssuer);
const upstream = startBeforeAll(() => startHttp((_, response) => void response.end()));

const yamlFor = (port: number, algorithm = 'RS256') => `public_url: http://127.0.0.1:${port}
listen: 127.0.0.1:${port}
admin: off
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [${algorithm}] } } }
routes:
  - { name: api, path: /api, audience: a, tokens: [jwt], resource: {}, upstream: { url: "${upstream.url}" } }
`;

test('prints a line for each finding and a sum, and exits with 0 if nothing fails', async () => {
  const port = await freePort();
  expect(await outcomeIn({ yaml: yamlFor(port) }, ['doctor'])).toEqual({
    code: 0,
    stdout: `warn public_url: http://127.0.0.1:${port}/.well-known/oauth-protected-resource/api cannot be reached (ECONNREFUSED): start the gateway (\`sallyport serve\`), then run doctor again
ok   authorization_servers.main: its metadata names the issuer ${issuer.url}
ok   authorization_servers.main: its keys fit jwt.algorithms: RS256
ok   clock: the clock differs from that of main by 0 s
ok   routes.api.upstream: ${upstream.url}/ answers (200 to HEAD)
4 ok, 1 warn, 0 fail
`,
    stderr: '',
  });
});

test('finds a running gateway well', async () => {
  const port = await freePort();
  const folder = await folderWith({ yaml: yamlFor(port) });
  const gateway = await start(await loadConfig(join(folder, 'gateway.yaml'), {}), {
    output: createWrittenLog().output,
  });
  const { code, stdout } = await outcome(['doctor'], folder);
  await gateway.close(0);
  expect(stdout).toMatch(/^ok {3}routes\.api: .* has the metadata of this configuration\n/);
  expect({ code, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({ code: 0, last: '6 ok, 0 warn, 0 fail' });
});

test('R-228: exits with 1 if anything fails, with a remedy for each failure', async () => {
  const yaml = yamlFor(1024, 'ES256').replace(upstream.url, 'http://127.0.0.1:1024');
  const token = await issuer.sign({ aud: 'b' });
  const { code, stdout } = await outcomeIn({ yaml }, ['doctor', '--token', '-', '--route', 'api'], { stdin: token });
  expect(code).toBe(1);
  const failed = stdout.split('\n').filter((line) => line.startsWith('fail'));
  expect(failed.map((line) => line.split(':')[0])).toEqual([
    'fail authorization_servers.main',
    'fail routes.api.upstream',
    ...Array<string>(3).fill('fail token'),
  ]);
  expect(failed[0]).toContain(': it publishes keys for RS256; jwt.algorithms accepts ES256: ');
  for (const part of token.split('.')) expect(stdout).not.toContain(part);
});

test('prints the problems of a configuration that cannot be used', async () => {
  expect(await outcomeIn({ yaml: 'routes: []\n' }, ['doctor'])).toMatchObject({ code: 1, stdout: '' });
});

test('R-228: reads a token from stdin alone, and prints it nowhere', async () => {
  const token = await issuer.sign({ aud: 'a' });
  const folder = await folderWith({ yaml: yamlFor(await freePort()) });
  const { code, stdout, stderr } = await outcome(['doctor', '--token', token], folder);
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: 'sallyport: --token takes only -, and reads the token from stdin; see sallyport help doctor\n',
  });
  const { stdout: printed } = await outcome(['doctor', '--token', '-'], folder, { stdin: `${token}\n` });
  expect(printed).toContain('\nok   token: route api accepts it\n');
  expect(printed).not.toContain(token.split('.')[1]);
});

test('--route without a token is wrong usage', async () => {
  expect(await outcome(['doctor', '--route', 'api'])).toMatchObject({
    code: 2,
    stderr: 'sallyport: --route needs --token -; see sallyport help doctor\n',
  });
});

test('says which secret files no user may read', async () => {
  const yaml = `public_url: http://127.0.0.1:9
authorization_servers:
  main: { issuer: "http://127.0.0.1:9", introspection: { client_id: a, client_secret: "\${file:closed}" } }
routes: [{ name: api, path: /api, audience: a, upstream: { url: "http://127.0.0.1:9" } }]
`;
  const folder = await folderWith({ yaml, files: { closed: 's3cr3t-of-the-gateway' } });
  await chmod(join(folder, 'closed'), 0o200);
  const { code, stdout, stderr } = await outcome(['doctor'], folder);
  expect(code).toBe(1);
  // Only root gets so far; the loader says it to every other user.
  expect(stdout + stderr).toMatch(/fail secrets: no user may read \S*closed \(mode 0200\): let|\(permission denied\)/);
  await chmod(join(folder, 'closed'), 0o400);
  expect((await outcome(['doctor'], folder)).stdout).not.toContain('secrets:');
});
