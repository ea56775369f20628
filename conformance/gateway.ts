import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Running } from '../demo/listen.ts';

/** The values of the gateway's configuration. */
export interface GatewayOptions {
  /** The folder for the configuration and for the log. */
  readonly folder: string;
  readonly publicUrl: string;
  readonly issuer: string;
  /** The MCP server behind it. */
  readonly upstream: string;
}

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Starts `sallyport serve` with one MCP route. Its policy only requires a scope, so that a difference comes from the
 * protocol and not from a policy.
 */
export async function startGateway({ folder, publicUrl, issuer, upstream }: GatewayOptions): Promise<Running> {
  await mkdir(join(folder, 'policies'), { recursive: true });
  await writeFile(join(folder, 'policies', 'reader.yaml'), 'scope: read\n');
  const config = {
    public_url: publicUrl,
    listen: '127.0.0.1:0',
    admin: 'off',
    authorization_servers: { main: { issuer, jwt: { algorithms: ['RS256'] } } },
    routes: [{ name: 'everything', path: '/mcp', protocol: 'mcp', policy: 'reader', upstream: { url: upstream } }],
  };
  // JSON is YAML.
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config, undefined, 2));
  return serve(folder);
}

/** Starts `sallyport serve` as a process of its own, with the `gateway.yaml` of a folder. Its log is `gateway.log` there. */
export async function serve(folder: string): Promise<Running> {
  const child = spawn(process.execPath, ['bin/sallyport.js', 'serve', '--config', join(folder, 'gateway.yaml')], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  child.stdout.pipe(createWriteStream(join(folder, 'gateway.log')));
  return {
    url: await listening(child, child.stdout),
    async close() {
      child.kill('SIGTERM');
      // A second signal ends the gateway without waiting for streams that the suite left open.
      const impatience = setTimeout(() => child.kill('SIGTERM'), 1000);
      await ended;
      clearTimeout(impatience);
    },
  };
}

/** The address in the gateway's log line `listening`. */
function listening(child: ChildProcess, log: Readable): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  createInterface({ input: log }).on('line', (line) => {
    const { msg, url } = JSON.parse(line) as { msg: string; url: string };
    if (msg === 'listening') resolve(url);
  });
  child.once('exit', () => reject(new Error('the gateway ended before it listened')));
  return promise;
}
