import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderWith } from '../serve/config/folder.ts';
import { outcome, sallyport, type Sallyport } from '../serve/process.ts';

const yaml = `
public_url: http://gateway.test
listen: 127.0.0.1:0
admin: 127.0.0.1:0
log: { file: logs/decisions.jsonl }
authorization_servers: { main: { issuer: http://127.0.0.1:9, jwt: { algorithms: [RS256] } } }
routes:
  - { name: api, path: /api, audience: api, upstream: { url: "http://127.0.0.1:9" } }
`;

/** Starts a gateway, with a log file unless `text` has another; its end is checked after `use`. */
async function started(
  args: readonly string[],
  use: (started: Readonly<Record<'folder' | 'url' | 'adminUrl' | 'file', string>>, gateway: Sallyport) => Promise<void>,
  text = yaml,
): Promise<void> {
  const folder = await folderWith({ yaml: text });
  await mkdir(join(folder, 'logs'));
  const gateway = sallyport(['serve', ...args], folder);
  const listening = /"msg":"listening","url":"(http:[^"]+)","admin":"(http:[^"]+)"/;
  const [, url = '', adminUrl = ''] = await gateway.says(listening);
  await use({ folder, url, adminUrl, file: join(folder, 'logs/decisions.jsonl') }, gateway);
  gateway.signal('SIGTERM');
  expect(await gateway.ended).toBe(0);
  expect(gateway.stderr(), 'R-225: without a terminal').toBe('');
}

/** Calls that are refused without a token, each on a connection of its own. */
async function call(url: string, path: string, count: number): Promise<void> {
  const one = async (): Promise<void> => {
    const { status } = await fetch(`${url}${path}`, { headers: { connection: 'close' } });
    expect(status).toBe(401);
  };
  await Promise.all(Array.from({ length: count }, one));
}

async function linesOf(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  expect(text).toMatch(/^$|\n$/);
  return text.split('\n').filter((line) => line !== '');
}

test.for([
  ['one process', []],
  ['workers', ['--workers', '2']],
] as const)(
  'R-223: appends every decision to the file, opens it again on SIGHUP, and loses no line of a rotation: %s',
  async ([, args]) => {
    await started(args, async ({ url, file }, gateway) => {
      await call(url, '/api', 60);
      await expect.poll(() => linesOf(file)).toHaveLength(60);
      const lines = await linesOf(file);
      expect(new Set(lines.map((line) => (JSON.parse(line) as { decision: string }).decision)).size).toBe(60);
      const printed = (): readonly string[] => gateway.stdout().split('\n');
      await expect.poll(() => printed().filter((line) => lines.includes(line))).toHaveLength(60);
      expect((await stat(file)).mode & 0o777, 'only its user may read it').toBe(0o600);
      expect(lines.join('')).not.toContain('"msg":"listening"');
      await rename(file, `${file}.1`);
      await call(url, '/api', 10);
      await expect.poll(() => linesOf(`${file}.1`)).toHaveLength(70);
      process.kill(gateway.pid, 'SIGHUP');
      await gateway.says(/configuration reloaded/);
      await expect.poll(() => existsSync(file)).toBe(true);
      await call(url, '/api', 10);
      await expect.poll(async () => [...(await linesOf(`${file}.1`)), ...(await linesOf(file))]).toHaveLength(80);
    });
  },
);

test('R-223: a file that cannot be opened is an error at start, in one line', async () => {
  const folder = await folderWith({ yaml });
  const { code, stderr } = await outcome(['serve'], folder);
  const place = join(folder, 'logs/decisions.jsonl');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `log.file: ENOENT: no such file or directory, open '${place}'\n`,
  });
});

test('R-223: SIGHUP keeps the open file if the path cannot be opened, and opens it under a refused configuration', async () => {
  await started([], async ({ folder, url, file }, gateway) => {
    await rename(join(folder, 'logs'), join(folder, 'moved'));
    process.kill(gateway.pid, 'SIGHUP');
    await gateway.says(/the decision log file cannot be opened again; the gateway uses the open one/);
    await call(url, '/api', 1);
    await expect.poll(() => linesOf(file.replace('logs', 'moved'))).toHaveLength(1);

    await writeFile(join(folder, 'gateway.yaml'), 'junk: 1\n');
    await gateway.says(/configuration refused/);
    await mkdir(join(folder, 'logs'));
    process.kill(gateway.pid, 'SIGHUP');
    await expect.poll(() => existsSync(file)).toBe(true);
    await call(url, '/api', 1);
    await expect.poll(() => linesOf(file)).toHaveLength(1);
  });
});

test('R-223, R-169: counts the lines that the file does not take', async () => {
  const counted = async ({ url, adminUrl }: { readonly url: string; readonly adminUrl: string }): Promise<void> => {
    await call(url, '/api', 5);
    await expect
      .poll(async () => (await fetch(`${adminUrl}/metrics`)).text())
      .toContain('sallyport_log_lines_lost_total{output="file"} 5');
  };
  await started([], counted, yaml.replace('logs/decisions.jsonl', '/dev/full'));
});
