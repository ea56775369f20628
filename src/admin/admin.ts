import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { consolePage, consolePolicy, isOwnName, type RouteView } from './console.ts';
import { http } from '../lib/http.ts';
import type { ServerState } from '../model/authorization-server.ts';
import type { Address } from '../model/config.ts';
import type { StoreState } from '../model/shared.ts';

/** Which configuration serves. */
export interface InForce {
  config: string;
  routes: readonly RouteView[];
  /** Why the newest files are not in force; empty where they are. */
  problems: readonly string[];
}

/** What the admin listener shows, of one process or of all workers. */
export interface AdminView {
  readonly metrics: () => Promise<Page>;
  readonly inForce: InForce;
  /** How many processes serve; undefined without workers. */
  workers?(): number;
  state(): Seen | Promise<Seen>;
}

/** A text and its media type. */
interface Page {
  readonly type: string;
  readonly text: string;
}

/** The others, as they are now. */
interface Seen {
  readonly servers: readonly ServerState[];
  /** Undefined where none is configured. */
  readonly store: StoreState | undefined;
  /** As they were logged, the newest first. */
  readonly denials: readonly object[];
}

/** The second listener: for the operator's network, not for clients. */
export interface Admin {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves the console (`/`), `/metrics` (Prometheus text format), `/healthz` (the process lives) and `/readyz` (a configuration is loaded
 * and listened on; the JSON lists each authorization server, and the shared store if there is one, as it is now).
 *
 * @throws the system's error where the address cannot be listened on.
 */
export async function startAdmin(address: Address, view: AdminView): Promise<Admin> {
  const pages: Readonly<Record<string, (response: ServerResponse) => Promise<void> | void>> = {
    async '/metrics'(response) {
      const { type, text } = await view.metrics();
      response.writeHead(200, { 'content-type': type }).end(text);
    },
    '/'(response) {
      response
        .writeHead(200, {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': consolePolicy,
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
        })
        .end(consolePage);
    },
    async '/console.json'(response) {
      if (!isOwnName(response.req.headers.host)) {
        response.writeHead(403).end();
        return;
      }
      json(response, { ...view.inForce, ...(await view.state()) });
    },
    '/healthz': (response) => json(response, { status: 'ok' }),
    async '/readyz'(response) {
      const { config, problems } = view.inForce;
      const { servers, store } = await view.state();
      json(response, {
        status: 'ready',
        config,
        // The last good one goes on: a warning, and no reason to take the replica out.
        ...(problems.length > 0 && { warning: 'the newest configuration is refused', problems }),
        workers: view.workers?.(),
        authorization_servers: servers,
        shared_store: store,
      });
    },
  };
  const server = http.createServer((request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) response.writeHead(404).end();
    else if (request.method !== 'GET' && request.method !== 'HEAD')
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    else Promise.resolve(page(response)).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address: host, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function json(response: ServerResponse, value: object): void {
  response
    .writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(value));
}
