import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { accepts, freePort } from '../support/ports.ts';
import type { World } from './gateway.ts';

const examples = new URL('../../deploy/forward-auth/', import.meta.url).pathname;

/** A real proxy that runs the committed example, on ports of the test's. */
export interface Proxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Whether this machine has a program; says so where it has not. */
export function isInstalled(program: string, versionFlag: string): boolean {
  const found = spawnSync(program, [versionFlag]).status === 0;
  if (!found) process.stdout.write(`skipped: ${program} is not installed, its example is not tested\n`);
  return found;
}

/** An example with other addresses and files in it than it was written for, each of which it must have. */
async function example(name: string, replacements: Readonly<Record<string, string>>): Promise<string> {
  let text = await readFile(join(examples, name), 'utf8');
  for (const [written, meant] of Object.entries(replacements)) {
    if (!text.includes(written)) throw new Error(`${name} has no ${written}`);
    text = text.replaceAll(written, meant);
  }
  return text;
}

/** Starts `nginx`, `caddy` or `haproxy` by its example, with `edits` of it, before the world's upstream. */
export async function startProxy(
  program: 'nginx' | 'caddy' | 'haproxy',
  world: World,
  edits: Readonly<Record<string, string>> = {},
): Promise<Proxy> {
  const folder = await mkdtemp(join(tmpdir(), `sallyport-${program}-`));
  const port = await freePort();
  const addresses = {
    ...edits,
    ':8000': `:${port}`,
    '127.0.0.1:8080': hostOf(world.gateway.url),
    '127.0.0.1:3002': hostOf(world.upstream.url),
    '127.0.0.1:8081': hostOf(world.gateway.forwardAuthUrl),
  };
  const file = join(folder, 'config');
  const commands = {
    async nginx() {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join(' ');
      const text = await example('nginx.conf', {
        ...addresses,
        'http {\n': `http {\n  access_log off; ${temporary}\n`,
      });
      await writeFile(file, text);
      const main = `daemon off; pid ${folder}/pid; error_log ${folder}/errors; master_process off;`;
      return ['-p', folder, '-c', file, '-e', `${folder}/errors`, '-g', main];
    },
    async caddy() {
      const globals = '{\n\tadmin off\n\tauto_https off\n}\n';
      await writeFile(file, globals + (await example('Caddyfile', { ...addresses })));
      return ['run', '--config', file, '--adapter', 'caddyfile'];
    },
    async haproxy() {
      const script = join(examples, 'sallyport.lua');
      await writeFile(file, await example('haproxy.cfg', { ...addresses, '/etc/haproxy/sallyport.lua': script }));
      return ['-db', '-f', file];
    },
  };
  const options = await commands[program]();
  const environment = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'pipe'], env: environment });
  const kill = (): boolean => child.kill('SIGKILL');
  // A test that ends in the middle leaves no process behind.
  process.once('exit', kill);
  let said = '';
  for (const output of [child.stdout, child.stderr]) output.on('data', (chunk: Buffer) => (said += chunk.toString()));
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${said}`);
    await wait(20);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      const ended = once(child, 'exit');
      kill();
      await ended;
      process.off('exit', kill);
      await rm(folder, { recursive: true });
    },
  };
}

function hostOf(url: string): string {
  return new URL(url).host;
}
