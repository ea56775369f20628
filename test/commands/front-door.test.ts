/** `serve` starts, watches and restarts the front door; `front-door` runs it alone. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderWith } from '../serve/config/folder.ts';
import { freePort } from '../support/ports.ts';
import { outcome as ofProcess, sallyport } from '../serve/process.ts';
import { outcome, outcomeIn } from './run.ts';

const secret = 'k3y-of-at-least-thirty-two-characters';

async function yamlWith(lines = ''): Promise<{ readonly yaml: string; readonly issuer: string }> {
  const listen = `127.0.0.1:${await freePort()}`;
  return {
    issuer: `http://${listen}`,
    yaml: `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: 127.0.0.1:0
${lines}
front_door:
  issuer: http://${listen}
  listen: ${listen}
  identity_providers: { corporate: { issuer: http://127.0.0.1:9, client_id: a, client_secret: of-the-tests } }
  scopes: { read: { title: Read } }
  clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, upstream: { url: "http://127.0.0.1:9/mcp" } }
`,
  };
}

function register(issuer: string, registration: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${issuer}/register`, { method: 'POST', headers, body: JSON.stringify(registration) });
}

async function issuerOf(url: string): Promise<unknown> {
  const response = await fetch(`${url}/.well-known/oauth-authorization-server`);
  return ((await response.json()) as { readonly issuer: unknown }).issuer;
}

test('serve starts it, restarts it, reloads it and ends it', async () => {
  const { yaml, issuer } = await yamlWith();
  const folder = await folderWith({ yaml });
  const gateway = sallyport(['serve'], folder);
  const [, adminUrl = ''] = await gateway.says(/"msg":"listening".*"admin":"(http:[^"]+)"/);
  await gateway.says(/"msg":"front door listening"/);
  await gateway.says(/the front door keeps its state in memory: a restart signs all people out/);
  expect(await issuerOf(issuer)).toBe(issuer);

  const client = { redirect_uris: ['http://127.0.0.1:7/cb'], token_endpoint_auth_method: 'none' };
  expect((await register(issuer, client)).status).toBe(201);
  const metrics = async (): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();
  await expect.poll(metrics).toContain('sallyport_front_door_registrations_total{result="ok"} 1');
  expect(await metrics()).toContain('sallyport_config_last_reload_successful 1');

  process.kill(await childOf(gateway.pid), 'SIGKILL');
  await gateway.says(/"msg":"the front door ended and is started again".*"signal":"SIGKILL"/);
  await expect.poll(() => issuerOf(issuer).catch(() => undefined)).toBe(issuer);

  await writeFile(join(folder, 'gateway.yaml'), yaml.replace('{ read: {', '{ write: { title: Write }, read: {'));
  await expect
    .poll(async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).json())
    .toMatchObject({ scopes_supported: ['write', 'read'] });

  gateway.signal('SIGTERM');
  expect(await gateway.ended).toBe(0);
  await expect(issuerOf(issuer)).rejects.toThrow('fetch failed');
});

test('serve does not start where the front door cannot listen', async () => {
  const { yaml } = await yamlWith();
  const taken = yaml.replace(/listen: (127\.0\.0\.1:\d+)\n {2}identity/, 'listen: 192.0.2.1:1\n  identity');
  const folder = await folderWith({ yaml: taken });
  const { code, stderr } = await ofProcess(['serve'], folder);
  expect([code, stderr]).toEqual([1, expect.stringContaining('192.0.2.1')]);
});

test('serve --without-front-door leaves it to front-door, which serves metrics and health to no name that can be registered', async () => {
  const { yaml, issuer } = await yamlWith(`session_key: ${secret}`);
  const folder = await folderWith({ yaml });
  const gateway = sallyport(['serve', '--without-front-door'], folder);
  await gateway.says(/"msg":"listening"/);
  await expect(issuerOf(issuer)).rejects.toThrow('fetch failed');
  const alone = sallyport(['front-door', '--metrics', '127.0.0.1:0'], folder);
  const [, url = ''] = await alone.says(/"msg":"front door listening".*"metrics":"(http:[^"]+)"/);
  expect(await issuerOf(issuer)).toBe(issuer);

  await register(issuer, {});
  const metrics = await fetch(`${url}/metrics`);
  expect(metrics.headers.get('content-type')).toMatch(/^text\/plain; version=/);
  const counted = 'sallyport_front_door_registrations_total{result="invalid_redirect_uri"} 1';
  expect(await metrics.text()).toContain(counted);
  const statusOf = async (path: string, host: string, method = 'GET'): Promise<number | undefined> => {
    const [response] = (await once(request(url + path, { method, headers: { host } }).end(), 'response')) as [
      IncomingMessage,
    ];
    response.resume();
    return response.statusCode;
  };
  expect(await statusOf('/metrics', 'rebound.example')).toBe(403);
  expect(await statusOf('/healthz', 'probe.example')).toBe(200);
  expect(await statusOf('/', 'localhost')).toBe(404);
  expect(await statusOf('/metrics', 'localhost', 'POST')).toBe(405);
  for (const each of [gateway, alone]) each.signal('SIGTERM');
  expect([await gateway.ended, await alone.ended]).toEqual([0, 0]);
});

test('front-door --metrics refuses an address that is none, or that is taken', async () => {
  const { yaml, issuer } = await yamlWith(`session_key: ${secret}`);
  const folder = await folderWith({ yaml });
  const none = await outcome(['front-door', '--metrics', '9091'], folder);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--metrics: "9091" is not an address')]);
  const taken = await outcome(['front-door', '--metrics', new URL(issuer).host], folder);
  expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('in use')]);
});

test('front-door alone needs a secret that both processes know', async () => {
  const { yaml } = await yamlWith();
  const { code, stderr } = await outcomeIn({ yaml }, ['front-door']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('a front door alone needs session_key')]);
});

test('front-door --clients prints what each known client stands for, as check does for those in use', async () => {
  const { code, stdout } = await outcome(['front-door', '--clients']);
  expect([code, stdout.trim().split('\n').length]).toEqual([0, 10]);
  const line = 'known:claude: https://claude.ai/api/mcp/auth_callback https://claude.com/api/mcp/auth_callback\n';
  expect(stdout).toContain(line);
  const { yaml } = await yamlWith();
  const known = yaml.replace(/redirect_uris: \[.*?\]/, 'redirect_uris: ["known:claude"]');
  expect((await outcomeIn({ yaml: known }, ['check'])).stdout).toContain(line);
});

/** The process of the front door below a gateway's. */
async function childOf(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number);
  for (const child of children) {
    const command = await readFile(`/proc/${child}/cmdline`, 'utf8');
    if (command.includes('front-door')) return child;
  }
  throw new Error('there is no process of the front door');
}
