import type { IncomingMessage, ServerResponse } from 'node:http';
import { Access, AdminRefusal, requireOwnPage } from './access.ts';
import { type ConsoleRequest, consoleRequests, json } from '../../capabilities/console/console.ts';
import { views } from '../../capabilities/console/messages.ts';
import type { ConsoleSource, InForce } from '../../capabilities/console/process-source.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { http, startListener } from '../../core/lib/http/node-http.ts';
import { isAtOrBelow } from '../../core/lib/http/path-flaw.ts';
import type { AdminRules, AdminSettings } from '../../core/model/config.ts';
import type { Metrics } from '../../core/telemetry/metrics.ts';
import { answerApprovals, answerRevocations, APPROVALS_PATH, REVOCATIONS_PATH } from './operator.ts';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { packageRoot } from '../package-root.ts';

/** What the listener shows, of one process or of all workers. */
export interface AdminView {
  readonly metrics: Metrics['page'];
  readonly inForce: InForce;
  /** How many processes serve; undefined without workers. */
  workers?(): number;
  readonly source: ConsoleSource;
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

/** Where the files of the pages are. They hold nothing of this gateway, and the sign-in page needs them. */
const ASSETS = '/console/assets/';

const NOT_BUILT =
  'The console was not built: run `npm run console` in the checkout, or use the package or the image.\n';

/** The headers of every answer. An HTML page replaces the content security policy. */
const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * Serves the console (`/`), `/metrics` (Prometheus text format), `/healthz` (the process lives) and `/readyz` (the
 * gateway serves; the JSON lists the state of each authorization server, and of the shared store if there is one).
 *
 * `/healthz` answers every caller. `/metrics` answers every caller that names an own Host. `/readyz` answers a caller
 * without the token with its status alone. Everything else answers operators only.
 *
 * @throws the system's error if the address cannot be listened on.
 */
export async function startAdmin(settings: AdminSettings, view: AdminView, options: AdminOptions): Promise<Admin> {
  const files = await readStaticFiles();
  const access = new Access(settings, options.clock, options.onWrongToken);

  async function readiness(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A kubelet probes from the node's address and has no token: it needs the status alone.
    if (!access.isOperator(request)) {
      response.writeHead(200).end();
      return;
    }
    const { config, problems, kept } = view.inForce;
    const warning = problems.length > 0 ? 'the newest configuration is refused' : 'secrets cannot be read';
    const { servers, store } = await view.source.ask('state', undefined);
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

  const openPages = new Map<string, ConsoleRequest>([
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
        if (access.hasSignIn()) return page('sign-in.html', request, response);
        access.requireOperator(request);
        throw new AdminRefusal(404, '');
      },
    ],
  ]);
  const requests = consoleRequests({ ...view, workers: () => view.workers?.() ?? 1 });

  function page(name: string, request: IncomingMessage, response: ServerResponse): void {
    if (!files.serve(name, request, response)) throw new AdminRefusal(503, NOT_BUILT);
  }

  function operatorPage(path: string): ConsoleRequest | undefined {
    return views.some((each) => each.path === path)
      ? (request, response) => page('index.html', request, response)
      : (requests.gets.get(path) ?? documentAt(path));
  }

  function documentAt(path: string): ConsoleRequest | undefined {
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
    if (isAtOrBelow(path, APPROVALS_PATH)) {
      access.requireToken(request);
      return answerApprovals(request, response, { source: view.source, path });
    }
    if (isAtOrBelow(path, REVOCATIONS_PATH)) {
      access.requireToken(request);
      return answerRevocations(request, response, { source: view.source, path });
    }
    if (path.startsWith(ASSETS) && files.serve(path.slice(ASSETS.length), request, response)) return;
    const openPage = openPages.get(path);
    if (openPage === undefined) access.requireOperator(request);
    const post = request.method === 'POST' ? requests.posts.get(path) : undefined;
    if (post !== undefined) requireOwnPage(request);
    const found = post ?? openPage ?? operatorPage(path);
    if (found === undefined) throw new AdminRefusal(404, '');
    if (post === undefined && request.method !== 'GET' && request.method !== 'HEAD')
      throw new AdminRefusal(405, '', { allow: 'GET, HEAD' });
    await found(request, response, () => isStillOperator(request));
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
      if (files.serve('sign-in.html', request, response)) return;
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
      requests.close();
      await listening.close();
    },
  };
}

/** The files of the console's page, built ahead by `npm run console`. */
interface StaticFiles {
  /** Answers with a file; false if there is none of that name. */
  serve(name: string, request: IncomingMessage, response: ServerResponse): boolean;
}

interface StaticFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Undefined in a checkout whose console is of an older build. */
  readonly gzipped: Buffer | undefined;
}

const folder = new URL('console/built/', packageRoot);

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * The content security policy of the pages: their own files, and requests to this listener. Nothing is inline, so that
 * no text of a caller could run or be styled.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Reads all files into memory; none if the console was not built. */
export async function readStaticFiles(): Promise<StaticFiles> {
  const names = await readdir(folder).catch(() => []);
  const served = names.filter((name) => Object.hasOwn(types, extname(name)));
  const files = new Map(await Promise.all(served.map(async (name) => [name, await read(name)] as const)));
  return {
    serve(name, request, response) {
      const file = files.get(name);
      if (file === undefined) return false;
      response.setHeader('content-type', file.type);
      response.setHeader('vary', 'accept-encoding');
      if (extname(name) === '.html') response.setHeader('content-security-policy', pagePolicy);
      // The names of scripts and styles change with their content.
      else response.setHeader('cache-control', 'private, max-age=31536000, immutable');
      const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '');
      const gzipped = takesGzip ? file.gzipped : undefined;
      if (gzipped !== undefined) response.setHeader('content-encoding', 'gzip');
      response.end(gzipped ?? file.bytes);
      return true;
    },
  };
}

async function read(name: string): Promise<StaticFile> {
  const [bytes, gzipped] = await Promise.all([
    readFile(new URL(name, folder)),
    readFile(new URL(`${name}.gz`, folder)).catch(() => undefined),
  ]);
  return { type: types[extname(name)] ?? '', bytes, gzipped };
}
