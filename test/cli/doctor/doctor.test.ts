import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import { start } from '../../../src/serve/start.ts';
import { inFolder } from '../../config/folder.ts';
import { createWrittenLog } from '../../support/written-log.ts';
import { outcome } from '../run.ts';
import { startIssuer, type Issuer } from '../../support/issuer.ts';
import { freePort } from '../../support/ports.ts';
import { listen, type Running } from '../../../demo/listen.ts';
import { createServer } from 'node:http';

let issuer: Issuer;
let upstream: Running;
beforeAll(async () => {
  issuer = await startIssuer();
  upstream = await listen(
    createServer((_, response) => void response.end()),
    0,
  );
});
afterAll(async () => {
  await issuer.close();
  await upstream.close();
});

const yamlFor = (port: number, algorithm = 'RS256') => `public_url: http://127.0.0.1:${port}
listen: 127.0.0.1:${port}
admin: off
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [${algorithm}] } } }
routes:
  - { name: api, path: /api, audience: a, tokens: [jwt], resource: {}, upstream: { url: "${upstream.url}" } }
`;

test('prints a line for each finding and a sum, and exits with 0 if nothing fails', async () => {
  const port = await freePort();
  await inFolder({ yaml: yamlFor(port) }, async (folder) => {
    expect(await outcome(['doctor'], folder)).toEqual({
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
});

test('finds a running gateway well', async () => {
  const port = await freePort();
  await inFolder({ yaml: yamlFor(port) }, async (folder) => {
    const gateway = await start(await loadConfig(join(folder, 'gateway.yaml'), {}), {
      output: createWrittenLog().output,
    });
    const { code, stdout } = await outcome(['doctor'], folder);
    await gateway.close(0);
    expect(stdout).toMatch(/^ok {3}routes\.api: .* has the metadata of this configuration\n/);
    expect({ code, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({ code: 0, last: '6 ok, 0 warn, 0 fail' });
  });
});

test('exits with 1 if anything fails', async () => {
  await inFolder({ yaml: yamlFor(await freePort(), 'ES256') }, async (folder) => {
    const { code, stdout } = await outcome(['doctor'], folder);
    expect(code).toBe(1);
    expect(stdout).toMatch(/\nfail authorization_servers\.main: it publishes keys for RS256; .*\n/);
  });
});

test('prints the problems of a configuration that cannot be used', async () => {
  await inFolder({ yaml: 'routes: []\n' }, async (folder) => {
    expect(await outcome(['doctor'], folder)).toMatchObject({ code: 1, stdout: '' });
  });
});

test('reads a token from stdin alone, and prints it nowhere', async () => {
  const token = await issuer.sign({ aud: 'a' });
  await inFolder({ yaml: yamlFor(await freePort()) }, async (folder) => {
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
});

test('--route without a token is wrong usage', async () => {
  expect(await outcome(['doctor', '--route', 'api'])).toMatchObject({
    code: 2,
    stderr: 'sallyport: --route needs --token -; see sallyport help doctor\n',
  });
});
