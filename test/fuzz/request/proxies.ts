import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Recorded } from './recorder.ts';
import { listen } from '../../../demo/listen.ts';
import { freePort } from '../../support/ports.ts';
import { isInstalled, nginxPaths, startProgram } from '../../support/program.ts';

/** Two more readers of requests, independent of Node: nginx and haproxy. */
export interface Proxies {
  /** How the forwarded requests differ from `request`. A refusal is not a difference. */
  read(request: Recorded): Promise<readonly string[]>;
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
  readonly close: () => Promise<void>;
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
  const { url, close } = await listen(behind, 0);
  const behindPort = Number(new URL(url).port);
  const proxies = [
    ...(isInstalled('nginx', '-v') ? [await startNginx(folder, behindPort)] : []),
    ...(isInstalled('haproxy', '-v') ? [await startHaproxy(folder, behindPort)] : []),
  ];
  let asked = 0;

  async function ask(proxy: Proxy, request: Recorded): Promise<string | undefined> {
    const tag = `${proxy.name}-${++asked}`;
    const answer = await exchange(proxy.port, tagged(request.raw, tag));
    const seen = requests.get(tag) ?? 0;
    requests.delete(tag);
    const body = /^HTTP\/1\.1 200 [^]*?\r\n\r\n(?:[0-9a-f]+\r\n)?(\{[^\r\n]*\})/.exec(answer)?.[1];
    if (body === undefined) {
      // A refused request may arrive in part, but not as several requests.
      return seen > 1 ? `${proxy.name} forwards ${seen} requests` : undefined;
    }
    return difference(proxy.name, request, { ...(JSON.parse(body) as Understood), requests: seen });
  }

  return {
    async read(request) {
      const found = await Promise.all(proxies.map((proxy) => ask(proxy, request)));
      return found.filter((each) => each !== undefined);
    },
    async close() {
      await Promise.all(proxies.map(({ close }) => close()));
      await close();
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

async function startNginx(folder: string, behind: number): Promise<Proxy> {
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; master_process off; error_log /dev/null; pid ${folder}/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off; client_max_body_size 0; large_client_header_buffers 4 64k; client_header_buffer_size 64k;
  ${nginxPaths(folder)} underscores_in_headers on;
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

async function startHaproxy(folder: string, behind: number): Promise<Proxy> {
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

async function startProxy(name: string, args: readonly string[], port: number): Promise<Proxy> {
  return { name, port, ...(await startProgram(name, args, port)) };
}
