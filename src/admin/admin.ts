import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AdminRefusal, createAccess } from './access.ts';
import { consolePage, signInPage, type HtmlPage, type RouteView } from './pages.ts';
import type { Clock } from '../lib/clock.ts';
import { http } from '../http/node-http.ts';
import type { AdminRules, AdminSettings } from '../model/config.ts';
import type { ServerState } from '../model/authorization-server.ts';
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

/** Answers a request whose caller may see the page. */
type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

/** The second listener: for the operator's network, not for clients. */
export interface Admin {
  readonly url: string;
  /** Answers by the rules of another configuration from now on; undefined changes nothing, since closing needs a restart. */
  reload(rules: AdminRules | undefined): void;
  close(): Promise<void>;
}

/** What the admin listener tells, and by which time. */
export interface AdminOptions {
  readonly clock: Clock;
  /** Is told the address of a caller that presented a wrong token. */
  readonly onWrongToken: (address: string) => void;
}

/** On every answer. A page adds to it, and replaces the policy that lets nothing in. */
const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * Serves the console (`/`), `/metrics` (Prometheus text format), `/healthz` (the process lives) and `/readyz` (a configuration is loaded
 * and listened on; the JSON lists each authorization server, and the shared store if there is one, as it is now).
 *
 * `/healthz` answers every caller, `/metrics` every Host that is the listener's own, `/readyz` without the token with its
 * status alone; everything else answers operators only.
 *
 * @throws the system's error where the address cannot be listened on.
 */
export async function startAdmin(settings: AdminSettings, view: AdminView, options: AdminOptions): Promise<Admin> {
  const { listen } = settings;
  const access = createAccess(settings, options.clock, options.onWrongToken);

  async function readiness(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A kubelet probes from the node's address and has no token: it needs the status alone.
    if (!access.isOperator(request)) {
      response.writeHead(200).end();
      return;
    }
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
  }

  /** Pages that decide themselves what a caller without the token sees. */
  const openPages = new Map<string, Serve>([
    ['/healthz', (_, response) => json(response, { status: 'ok' })],
    [
      '/metrics',
      async (_, response) => {
        const { type, text } = await view.metrics();
        response.writeHead(200, { 'content-type': type }).end(text);
      },
    ],
    ['/readyz', readiness],
    [
      '/sign-in',
      (request, response) => {
        if (access.hasSignIn()) return html(response, 200, signInPage);
        access.requireOperator(request);
        throw new AdminRefusal(404, '');
      },
    ],
  ]);
  /** Pages for operators. */
  const pages = new Map<string, Serve>([
    ['/', (_, response) => html(response, 200, consolePage)],
    ['/console.json', async (_, response) => json(response, { ...view.inForce, ...(await view.state()) })],
  ]);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    if (path !== '/healthz') access.requireOwnHost(request);
    if (path === '/sign-in' && request.method === 'POST') {
      response.writeHead(204, { 'set-cookie': access.signIn(request) }).end();
      return;
    }
    const openPage = openPages.get(path);
    if (openPage === undefined) access.requireOperator(request);
    const page = openPage ?? pages.get(path);
    if (page === undefined) throw new AdminRefusal(404, '');
    if (request.method !== 'GET' && request.method !== 'HEAD') throw new AdminRefusal(405, '', { allow: 'GET, HEAD' });
    await page(request, response);
  }

  /** A person gets the page to sign in on at the very address that needs it. */
  function refuse(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    if (!(error instanceof AdminRefusal)) return void response.destroy(error as Error);
    const { status, headers, message } = error;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (status === 401 && request.method === 'GET' && request.headers.accept?.includes('text/html') === true)
      return html(response, 401, signInPage);
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(message);
  }

  const server = http.createServer((request, response) => {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => refuse(error, request, response));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(listen.port, listen.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address: host, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`,
    reload(rules) {
      if (rules !== undefined) access.reload(rules);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function html(response: ServerResponse, status: number, { html: page, policy }: HtmlPage): void {
  response
    .writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy })
    .end(page);
}

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
