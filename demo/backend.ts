/**
 * The demo API: a backend without any authorization of its own. The gateway before it lets in only whom it may serve and
 * says in headers who that is; whoever reaches it directly is whoever they claim to be, so its port is never published.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setInterval } from 'node:timers';

import { listen, serveAlone, type Running } from './listen.ts';

/** Where the backend listens. */
export interface BackendOptions {
  /** 0 lets the system choose. */
  readonly port: number;
  /** Default: loopback. */
  readonly host?: string;
}

/** Starts the demo API. */
export function startBackend({ port, host }: BackendOptions): Promise<Running> {
  return listen(createServer(answer), port, host);
}

const tickMs = 1_000;
const defaultTicks = 10;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://backend');
  // Nothing here needs a request's body; one that is left unread would block the connection's next request.
  request.resume();
  switch (pathname) {
    case '/healthz':
      return json(response, { status: 'ok' });
    case '/demo/data':
      return json(response, { data: 'Data for everybody who may read', user: subject(request), actor: actor(request) });
    case '/demo/highworthdata':
      return json(response, { data: 'High worth data', user: subject(request), risk: risk(request) });
    case '/public/status':
      return json(response, { status: 'open to everybody' });
    case '/events':
      return ticks(response, Number(searchParams.get('count') ?? defaultTicks));
    default:
      return json(response, echo(request));
  }
}

/** `x-auth-subject`: the gateway's word on who calls. */
function subject(request: IncomingMessage): string | null {
  return header(request, 'x-auth-subject') ?? null;
}

/** `x-auth-actor`: who acts for them, RFC 8693 §4.1; null where they call themselves. */
function actor(request: IncomingMessage): string | null {
  return header(request, 'x-auth-actor') ?? null;
}

/** `x-auth-risk`: the gateway's word on the caller's risk score. */
function risk(request: IncomingMessage): number | null {
  const value = header(request, 'x-auth-risk');
  return value === undefined ? null : Number(value);
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** What arrived here, for people who want to see what the gateway passes on; a credential only by its presence. */
function echo(request: IncomingMessage): object {
  const { authorization, ...headers } = request.headers;
  return {
    method: request.method,
    path: request.url,
    user: subject(request),
    credential: authorization !== undefined,
    headers,
  };
}

/** One event a second, so that one can see that nothing on the way holds a stream back. */
function ticks(response: ServerResponse, count: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  let sent = 0;
  const tick = (): void => {
    sent += 1;
    response.write(`event: message\ndata: ${JSON.stringify({ tick: sent, at: new Date().toISOString() })}\n\n`);
    if (sent >= count) response.end();
  };
  const timer = setInterval(tick, tickMs);
  response.on('close', () => clearInterval(timer));
  tick();
}

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

if (import.meta.main) await serveAlone('demo API', 3002, (port, host) => startBackend({ port, host }));
