import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fieldOf, startRecorder, type Recorded } from './recorder.ts';
import { freePort } from '../../support/ports.ts';
import { isInstalled, nginxPaths, startProgram } from '../../support/program.ts';
import { exchangeRaw } from '../../support/raw.ts';

/** Two more readers of requests, independent of Node: nginx and haproxy. */
export interface Proxies {
  /** How the forwarded requests differ from `request`. A refusal is not a difference. */
  read(request: Recorded): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** How long a second answer may follow the first. */
const QUIET_MS = 8;

/** Starts the proxies that are installed. */
export async function startProxies(): Promise<Proxies> {
  const forwarded = new Map<string, Recorded[]>();
  const behind = await startRecorder(
    (_request, response) => response.end(),
    (request) => forwarded.get(fieldOf(request, 'x-tag'))?.push(request),
    () => {},
  );
  const names = (['nginx', 'haproxy'] as const).filter((name) => isInstalled(name, '-v'));
  const proxies = await Promise.all(names.map((name) => startProxy(name, new URL(behind.url).host)));
  let asked = 0;

  async function ask({ name, url }: Proxy, request: Recorded): Promise<string | undefined> {
    const tag = `${name}-${++asked}`;
    const received: Recorded[] = [];
    forwarded.set(tag, received);
    await exchangeRaw(url, tagged(request.raw, tag), QUIET_MS);
    forwarded.delete(tag);
    const [found, ...more] = received;
    if (more.length > 0) return `${name} forwards ${received.length} requests`;
    // A refused request may arrive in part.
    return found?.complete === true ? difference(name, request, found) : undefined;
  }

  return {
    async read(request) {
      const found = await Promise.all(proxies.map((proxy) => ask(proxy, request)));
      return found.filter((each) => each !== undefined);
    },
    async close() {
      await Promise.all(proxies.map(({ close }) => close()));
      await behind.close();
    },
  };
}

function difference(name: string, { method, target, body }: Recorded, found: Recorded): string | undefined {
  if (found.method !== method) return `${name} reads the method ${found.method}`;
  if (found.target !== target) return `${name} reads the target ${found.target}`;
  const decoded = target
    .replace(/\?[^]*$/, '')
    .replaceAll(/%[0-9A-Fa-f]{2}/g, (octet) => String.fromCharCode(Number.parseInt(octet.slice(1), 16)));
  // The value is in brackets, because a field loses a space at its end.
  const path = fieldOf(found, 'x-path').slice(1, -1);
  if (path !== decoded) return `${name} reads the path ${path}`;
  return found.body.length === body.length ? undefined : `${name} reads ${found.body.length} bytes of body`;
}

/** With a field after the request line that identifies the request. */
function tagged(raw: Buffer, tag: string): Buffer {
  const at = raw.indexOf('\r\n') + 2;
  return Buffer.concat([raw.subarray(0, at), Buffer.from(`x-tag: ${tag}\r\n`), raw.subarray(at)]);
}

interface Proxy {
  readonly name: string;
  readonly url: string;
  readonly close: () => Promise<void>;
}

async function startProxy(name: keyof typeof configurations, behind: string): Promise<Proxy> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-fuzz-'));
  const port = await freePort();
  const file = join(folder, 'configuration');
  await writeFile(file, configurations[name](`127.0.0.1:${port}`, behind, folder));
  const options = { nginx: ['-p', folder, '-c', file], haproxy: ['-db', '-q', '-f', file] }[name];
  return { name, url: `http://127.0.0.1:${port}`, ...(await startProgram(name, options, port)) };
}

const configurations = {
  nginx: (host: string, behind: string, folder: string) => `
daemon off; master_process off; error_log /dev/null; pid ${folder}/nginx.pid;
events { worker_connections 1024; }
http {
  access_log off; client_max_body_size 0; large_client_header_buffers 4 64k; client_header_buffer_size 64k;
  ${nginxPaths(folder)} underscores_in_headers on;
  server {
    listen ${host};
    location / {
      proxy_pass http://${behind}; proxy_http_version 1.1; proxy_set_header X-Path "[$uri]";
      proxy_set_header Connection "";
    }
  }
}
`,
  haproxy: (host: string, behind: string) => `
global
  tune.bufsize 131072
  tune.maxrewrite 8192
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend clients
  bind ${host}
  http-request set-header x-path [%[path,url_dec]]
  default_backend upstream
backend upstream
  server one ${behind}
`,
};
