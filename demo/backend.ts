/**
 * The demo API: a backend without authorization of its own. The gateway in front forwards only allowed requests, with
 * the caller's identity in headers. A direct caller could claim any identity, so the port is never published.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setInterval } from 'node:timers';

import { listen, serveAlone, type Running } from './listen.ts';

/** The address of the backend. */
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
  // No path needs a request's body. An unread body would block the next request on the connection.
  request.resume();
  switch (pathname) {
    case '/healthz':
      return json(response, { status: 'ok' });
    case '/demo/data':
      return json(response, { data: 'Data for every reader', user: subject(request), actor: actor(request) });
    case '/demo/highworthdata':
      return json(response, { data: 'High worth data', user: subject(request), risk: risk(request) });
    case '/public/status':
      return json(response, { status: 'open to every caller' });
    case '/events':
      return ticks(response, Number(searchParams.get('count') ?? defaultTicks));
    default:
      return json(response, echo(request));
  }
}

/** `x-auth-subject`: the caller, as the gateway says. */
function subject(request: IncomingMessage): string | null {
  return header(request, 'x-auth-subject') ?? null;
}

/** `x-auth-actor`: the actor, RFC 8693 §4.1; null if the caller acts itself. */
function actor(request: IncomingMessage): string | null {
  return header(request, 'x-auth-actor') ?? null;
}

/** `x-auth-risk`: the caller's risk score, as the gateway says. */
function risk(request: IncomingMessage): number | null {
  const value = header(request, 'x-auth-risk');
  return value === undefined ? null : Number(value);
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** The request as it arrived, to show what the gateway forwards; of a credential, only its presence. */
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

/** Sends one event a second, to show that nothing on the way buffers the stream. */
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
