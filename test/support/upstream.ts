import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen } from '../../demo/listen.ts';

/** A request as an upstream saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** A real server that remembers everything that reached it. */
export interface Upstream {
  readonly url: string;
  readonly server: Server;
  readonly seen: SeenRequest[];
  /** Connections open now. */
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

/** Answers a request, whose body was read. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A server that answers each request once its body was read. */
export function bodyServer(handle: RequestHandler): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => handle(request, response, Buffer.concat(chunks).toString()));
  });
}

/** Answers with JSON; without a body if `value` is undefined. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Starts an upstream on loopback; `handle` answers after the body was read. Default: 200 with a small JSON. */
export async function startUpstream(
  handle: RequestHandler = (_request, response) => sendJson(response, 200, { ok: true }),
): Promise<Upstream> {
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const server = bodyServer((request, response, body) => {
    const { method = '', url = '', headers, rawHeaders } = request;
    seen.push({ method, url, headers, rawHeaders, body });
    handle(request, response, body);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return { ...(await listen(server, 0)), server, seen, sockets };
}
