import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Recorded } from './recorder.ts';
import { accepts, freePort } from '../../support/ports.ts';

/** Two more readers of requests, independent of Node: nginx and haproxy. */
export interface Proxies {
  readonly names: readonly string[];
  /** How the forwarded requests differ from `request`. A refusal is not a difference. */
  read(request: Recorded): Promise<readonly string[]>;
  /** How many requests each has forwarded and refused. */
  readonly counts: ReadonlyMap<string, { forwarded: number; refused: number }>;
  close(): Promise<void>;
}

/** A request that a proxy forwarded, as the server behind it received it. */
interface Understood {
  readonly requests: number;
  readonly method: string;
  readonly target: string;
  readonly path: string;
  readonly length: number;
}

interface Proxy {
  readonly name: string;
  readonly port: number;
  readonly stop: () => Promise<void>;
}

/** Starts the proxies that are installed. */
export async function startProxies(): Promise<Proxies> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-fuzz-'));
  const requests = new Map<string, number>();
  const behind = createServer((request, response) => {
    const tag = String(request.headers['x-tag']);
    requests.set(tag, (requests.get(tag) ?? 0) + 1);
    let length = 0;
    request.on('data', (chunk: Buffer) => (length += chunk.length));
    request.on('end', () => {
      const { method, url: target, headers } = request;
      // The value is in brackets, because a field loses a space at its end.
      const path = String(headers['x-path']).slice(1, -1);
      // latin1 keeps each octet.
      response.end(JSON.stringify({ method, target, path, length }), 'latin1');
    });
  });
  behind.listen(0, '127.0.0.1');
  await once(behind, 'listening');
  const { port: behindPort } = behind.address() as AddressInfo;
  const proxies = [await startNginx(folder, behindPort), await startHaproxy(folder, behindPort)].filter(
    (each) => each !== undefined,
  );
  const counts = new Map(proxies.map(({ name }) => [name, { forwarded: 0, refused: 0 }]));
  let asked = 0;

  async function ask(proxy: Proxy, request: Recorded): Promise<string | undefined> {
    const tag = `${proxy.name}-${++asked}`;
    const answer = await exchange(proxy.port, tagged(request.raw, tag));
    const seen = requests.get(tag) ?? 0;
    requests.delete(tag);
    const count = counts.get(proxy.name);
    const body = /^HTTP\/1\.1 200 [^]*?\r\n\r\n(?:[0-9a-f]+\r\n)?(\{[^\r\n]*\})/.exec(answer)?.[1];
    if (body === undefined) {
      if (count !== undefined) count.refused += 1;
      // A refused request may arrive in part, but not as several requests.
      return seen > 1 ? `${proxy.name} forwards ${seen} requests` : undefined;
    }
    if (count !== undefined) count.forwarded += 1;
    return difference(proxy.name, request, { ...(JSON.parse(body) as Understood), requests: seen });
  }

  return {
    names: proxies.map(({ name }) => name),
    counts,
    async read(request) {
      const found = await Promise.all(proxies.map((proxy) => ask(proxy, request)));
      return found.filter((each) => each !== undefined);
    },
    async close() {
      await Promise.all(proxies.map(({ stop }) => stop()));
      behind.close();
      behind.closeAllConnections();
    },
  };
}

function difference(name: string, { method, target, body }: Recorded, found: Understood): string | undefined {
  if (found.requests !== 1) return `${name} forwards ${found.requests} requests`;
  if (found.method !== method) return `${name} reads the method ${found.method}`;
  if (found.target !== target) return `${name} reads the target ${found.target}`;
  const decoded = target
    .replace(/\?[^]*$/, '')
    .replaceAll(/%[0-9A-Fa-f]{2}/g, (octet) => String.fromCharCode(Number.parseInt(octet.slice(1), 16)));
  if (found.path !== decoded) return `${name} reads the path ${found.path}`;
  return found.length === body.length ? undefined : `${name} reads ${found.length} bytes of body`;
}

/** With a field after the request line that identifies the request. */
function tagged(raw: Buffer, tag: string): Buffer {
  const at = raw.indexOf('\r\n') + 2;
  return Buffer.concat([raw.subarray(0, at), Buffer.from(`x-tag: ${tag}\r\n`), raw.subarray(at)]);
}

/** The bytes that come back until the first answer, and for a moment after it, in case there is a second one. */
function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(bytes));
    socket.setTimeout(2000, () => socket.destroy());
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      setTimeout(() => socket.destroy(), 5);
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
}

async function startNginx(folder: string, behind: number): Promise<Proxy | undefined> {
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; master_process off; error_log /dev/null; pid ${folder}/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off; client_max_body_size 0; large_client_header_buffers 4 64k; client_header_buffer_size 64k;
  client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
  uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e; underscores_in_headers on;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${behind}; proxy_http_version 1.1; proxy_set_header X-Path "[$uri]";
      proxy_set_header Connection "";
    }
  }
}
`,
  );
  return startProxy('nginx', ['-p', folder, '-c', file], port);
}

async function startHaproxy(folder: string, behind: number): Promise<Proxy | undefined> {
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  await writeFile(
    file,
    `global
  tune.bufsize 131072
  tune.maxrewrite 8192
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend clients
  bind 127.0.0.1:${port}
  http-request set-header x-path [%[path,url_dec]]
  default_backend upstream
backend upstream
  server one 127.0.0.1:${behind}
`,
  );
  return startProxy('haproxy', ['-db', '-q', '-f', file], port);
}

async function startProxy(name: string, args: readonly string[], port: number): Promise<Proxy | undefined> {
  if (spawnSync('sh', ['-c', 'command -v "$0"', name]).status !== 0) {
    process.stderr.write(`${name} is not installed: its check is left out\n`);
    return undefined;
  }
  const child = spawn(name, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  for (let tries = 0; !(await accepts(port)); tries += 1) {
    if (tries > 200 || child.exitCode !== null) throw new Error(`${name} does not listen`);
    await wait(25);
  }
  return { name, port, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
