import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AdminAnswer,
  type AdminPages,
  AdminRefusal,
  type AdminSource,
  type InForce,
  json,
} from '../../capabilities/admin.ts';
import { capabilities } from '../../capabilities/all.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { http, startListener } from '../../core/lib/http/node-http.ts';
import type { AdminRules, AdminSettings } from '../../ports/config.ts';
import type { Metrics } from '../../core/telemetry/metrics.ts';
import { Access, requireOwnPage } from './access.ts';
import { type GatewayState, processState } from './answers.ts';

/** What the listener shows, of one process or of all workers. */
export interface AdminView {
  readonly metrics: Metrics['page'];
  readonly inForce: InForce;
  /** How many processes serve; undefined without workers. */
  workers?(): number;
  readonly source: AdminSource;
  /** JSON documents for operators, by their paths. */
  readonly documents: Readonly<Record<string, unknown>>;
}

/** The second listener: for the operator's network, not for clients. */
export interface Admin {
  readonly url: string;
  /** Applies the rules of another configuration. Undefined changes nothing, since closing needs a restart. */
  reload(rules: AdminRules | undefined): void;
  close(): Promise<void>;
}

/** The clock of an admin listener, and its observer. */
export interface AdminOptions {
  readonly clock: Clock;
  /** Called with the address of a caller that presented a wrong token. */
  readonly onWrongToken: (address: string) => void;
}

/** The headers of every answer. An HTML page replaces the content security policy. */
const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * Serves the pages of capabilities, `/metrics` (Prometheus text format), `/healthz` (the process lives) and `/readyz`
 * (the gateway serves; the JSON lists the state of each authorization server, and of the shared store if there is one).
 *
 * `/healthz` answers every caller. `/metrics` answers every caller that names an own Host. `/readyz` answers a caller
 * without the token with its status alone. Everything else answers operators only.
 *
 * @throws the system's error if the address cannot be listened on.
 */
export async function startAdmin(settings: AdminSettings, view: AdminView, options: AdminOptions): Promise<Admin> {
  const { inForce, source } = view;
  const access = new Access(settings, options.clock, options.onWrongToken);

  async function readiness(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A kubelet probes from the node's address and has no token: it needs the status alone.
    if (!access.isOperator(request)) {
      response.writeHead(200).end();
      return;
    }
    const { config, problems, kept } = inForce;
    const warning = problems.length > 0 ? 'the newest configuration is refused' : 'secrets cannot be read';
    const { servers, store } = await state();
    json(response, {
      status: 'ready',
      config: config.hash,
      policies: Object.fromEntries(
        [...config.policies].map(([name, { revision }]) => [name, revision.slice(name.length + 1)]),
      ),
      // The last good configuration stays in force: a warning, but no reason to take the replica out of service.
      ...(problems.length + kept.length > 0 && { warning, problems: [...problems, ...kept] }),
      workers: view.workers?.(),
      authorization_servers: servers,
      shared_store: store,
    });
  }

  const openPages = new Map<string, AdminAnswer>([
    ['/healthz', (_, response) => json(response, { status: 'ok' })],
    [
      '/metrics',
      async (_, response) => {
        const { type, text } = await view.metrics();
        response.writeHead(200, { 'content-type': type }).end(text);
      },
    ],
    ['/readyz', readiness],
  ]);
  const state = (): Promise<GatewayState> => source.ask(processState, undefined);
  const parts = { inForce, source, state, workers: () => view.workers?.() ?? 1 };
  const pages = await Promise.all(capabilities.flatMap(({ openAdmin }) => openAdmin?.(parts) ?? []));

  function openPage(path: string): AdminAnswer | undefined {
    // Without a configured token, no operator can sign in.
    if (path === '/sign-in' && !access.hasSignIn()) return undefined;
    return openPages.get(path) ?? found(({ open }) => open?.(path));
  }

  function operatorPage(path: string): AdminAnswer | undefined {
    return found(({ gets }) => gets?.get(path)) ?? documentAt(path);
  }

  function found(answerOf: (each: AdminPages) => AdminAnswer | undefined): AdminAnswer | undefined {
    return pages.map(answerOf).find((each) => each !== undefined);
  }

  function documentAt(path: string): AdminAnswer | undefined {
    const { documents } = view;
    return Object.hasOwn(documents, path) ? (_, response) => json(response, documents[path]) : undefined;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    if (path !== '/healthz') access.requireOwnHost(request);
    if (path === '/sign-in' && request.method === 'POST') {
      response.writeHead(204, { 'set-cookie': access.signIn(request) }).end();
      return;
    }
    const isAllowed = (): boolean => isStillOperator(request);
    const command = found(({ withToken }) => withToken?.(path));
    if (command !== undefined) {
      access.requireToken(request);
      return command(request, response, isAllowed);
    }
    const forAll = openPage(path);
    if (forAll === undefined) access.requireOperator(request);
    const post = request.method === 'POST' ? found(({ posts }) => posts?.get(path)) : undefined;
    if (post !== undefined) requireOwnPage(request);
    const page = post ?? forAll ?? operatorPage(path);
    if (page === undefined) throw new AdminRefusal(404, '');
    if (post === undefined && request.method !== 'GET' && request.method !== 'HEAD')
      throw new AdminRefusal(405, '', { allow: 'GET, HEAD' });
    await page(request, response, isAllowed);
  }

  /** {@link Access.isOperator}, long after the request was answered. */
  function isStillOperator(request: IncomingMessage): boolean {
    try {
      return access.isOperator(request);
    } catch {
      return false;
    }
  }

  /** Refuses a request. A browser gets the sign-in page at the address that needs it. */
  function refuse(error: unknown, request: IncomingMessage, response: ServerResponse): void {
    if (!(error instanceof AdminRefusal)) return void response.destroy(error as Error);
    const { status, headers, message } = error;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (status === 401 && request.method === 'GET' && request.headers.accept?.includes('text/html') === true) {
      response.statusCode = 401;
      if (pages.some(({ signIn }) => signIn?.(request, response) === true)) return;
    }
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(message);
  }

  const server = http.createServer((request, response) => {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => refuse(error, request, response));
  });
  const listening = await startListener(server, settings.listen);
  return {
    url: listening.url,
    reload(rules) {
      if (rules !== undefined) access.reload(rules);
    },
    async close() {
      for (const each of pages) each.close?.();
      await listening.close();
    },
  };
}
