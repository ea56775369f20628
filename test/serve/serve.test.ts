import { mkdtemp, readdir, readlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../demo/listen.ts';
import { outcome } from '../commands/run.ts';
import { edited, inFolder, loaded } from './config/folder.ts';
import { load } from '../../src/serve/config/load.ts';
import { listenFault, start } from '../../src/serve/start.ts';
import { accepts } from '../support/ports.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { createWrittenLog } from '../support/written-log.ts';
import { sallyport } from './process.ts';

/** Public routes alone: no authorization server is needed. */
const open = (address: string, admin = '127.0.0.1:0'): string => `
public_url: http://gateway.test
listen: ${address}
admin: ${admin}
routes:
  - { name: open, path: /, public: true, upstream: { url: "${upstream.url}" } }
`;
const upstream = startBeforeAll(() =>
  listen(
    createServer((_request, response) => void response.writeHead(200).write('hello')),
    0,
  ),
);
const taken = (): string => new URL(upstream.url).host;

test('R-171: serves until a signal, then exits with 0; a second one does not wait for a stream', async () => {
  await inFolder({ yaml: open('127.0.0.1:0') }, async (folder) => {
    const idle = sallyport(['serve'], folder);
    const streaming = sallyport(['serve', '--config', 'gateway.yaml'], folder);
    const [, url = ''] = await streaming.says(/"url":"(http:[^"]+)"/);
    const reader = (await fetch(url)).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? '').toString()).toBe('hello');
    streaming.signal('SIGINT');
    await expect.poll(() => accepts(Number(new URL(url).port))).toBe(false);
    streaming.signal('SIGTERM');
    expect(await streaming.ended).toBe(1);
    await reader?.cancel().catch(() => undefined);

    await idle.says(/"msg":"listening"/);
    idle.signal('SIGTERM');
    expect([await idle.ended, idle.stderr()]).toEqual([0, '']);
  });
});

test.each<[title: string, yaml: () => string, fault: RegExp]>([
  [
    'a listen port in use',
    () => open(taken()),
    /^127\.0\.0\.1:\d+ is in use: stop the process that listens there, or /,
  ],
  [
    'an admin port in use',
    () => open('127.0.0.1:0', taken()),
    /^127\.0\.0\.1:\d+ is in use: .* change listen, admin or front_door\.listen$/,
  ],
  ['a foreign address', () => open('192.0.2.1:8080'), /^192\.0\.2\.1:8080 is not an address of this machine$/],
  [
    'an unknown name',
    () => open('gateway.invalid:8080'),
    /^gateway\.invalid cannot be resolved to an address \(E\w+\)$/,
  ],
])('says in one line that it cannot listen at %s', async (_title, yaml, fault) => {
  const config = await loaded({ yaml: yaml() });
  expect(listenFault(await start(config).catch((reason: unknown) => reason))).toMatch(fault);
});

test('leaves no log file open if it cannot listen', async () => {
  const log = join(await mkdtemp(join(tmpdir(), 'sallyport-')), 'decisions.jsonl');
  await expect(start(await loaded({ yaml: `${open(taken())}log: { file: ${log} }\n` }))).rejects.toThrow('EADDRINUSE');
  const descriptors = await readdir('/proc/self/fd');
  const files = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  expect(files).not.toContain(log);
});

test('a reload with another admin token ends the old token and its sessions', async () => {
  const loadWith = (token: string) =>
    inFolder({ yaml: open('127.0.0.1:0', `{ listen: "127.0.0.1:0", token: ${token} }`) }, (folder) =>
      load(join(folder, 'gateway.yaml'), {}),
    );
  const [first, second] = ['Kx7-the-first-token-0123', 'Kx7-the-second-token-0123'] as const;
  const gateway = await start((await loadWith(first)).config, { output: createWrittenLog().output });
  onTestFinished(() => gateway.close(0));
  const adminUrl = String(gateway.adminUrl);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const signedIn = await fetch(`${adminUrl}/sign-in`, {
    method: 'POST',
    headers: { ...bearer(first), origin: adminUrl },
  });
  const cookie = String(signedIn.headers.get('set-cookie')?.split(';')[0]);
  // A proxy speaks for another machine: off loopback.
  const statusOf = async (credential: Readonly<Record<string, string>>): Promise<number> =>
    (await fetch(`${adminUrl}/console.json`, { headers: { 'x-forwarded-for': '192.0.2.1', ...credential } })).status;
  const statuses = () => Promise.all([bearer(second), bearer(first), { cookie }].map(statusOf));
  expect(await statuses()).toEqual([401, 200, 200]);
  const { config, snapshot } = await loadWith(second);
  await gateway.reload(config, snapshot);
  expect(await statuses()).toEqual([200, 401, 401]);
});

test('refuses a configuration with a problem as check does', async () => {
  await inFolder({ yaml: edited(['/api\n', 'api\n']) }, async (folder) => {
    const refused = await outcome(['check'], folder);
    expect(refused.stderr).toBe(
      'gateway.yaml:9:11: routes[0].path: "api" does not start with /; write "/api"\ngateway.yaml: 1 problem\n',
    );
    expect(await outcome(['serve'], folder)).toEqual(refused);
  });
});
