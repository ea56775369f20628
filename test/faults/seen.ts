import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { WebSocket } from 'ws';
import type { Bed } from './bed.ts';

/** What a client saw of one call. */
export interface Seen {
  /** What the call carried as `x-call`. */
  readonly id: string;
  /** Undefined: the connection ended before an answer began. */
  readonly status: number | undefined;
  /** Whether the answer ended as HTTP says that it ends. */
  readonly whole: boolean;
  readonly body: string;
  readonly requestId: string | undefined;
  /** Nothing came to an end in {@link PATIENCE_MS}. */
  readonly hung: boolean;
}

/** What is sent besides the method and path. */
export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** By its timeouts the gateway may take two seconds; a busy machine takes more. */
const PATIENCE_MS = 32_000;

/** Calls the gateway over the wire of the clients. */
export function call(bed: Bed, path: string, { method = 'GET', headers, body }: Sent = {}): Promise<Seen> {
  const id = randomUUID();
  return new Promise((resolve) => {
    let [status, requestId]: [number | undefined, string | undefined] = [undefined, undefined];
    let text = '';
    let hung = false;
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const outgoing = request(bed.url + path, {
      method,
      agent: bed.agent,
      headers: { ...headers, ...length, 'x-call': id },
    });
    const timer = setTimeout(() => {
      hung = true;
      outgoing.destroy();
    }, PATIENCE_MS);
    const settle = (whole: boolean): void => {
      clearTimeout(timer);
      resolve({ id, status, whole, body: text, requestId, hung });
    };
    outgoing.on('error', () => settle(false));
    outgoing.on('response', (response) => {
      status = response.statusCode;
      requestId = response.headers['x-request-id']?.toString();
      response.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
      response.on('error', () => settle(false));
      response.on('close', () => settle(response.complete));
    });
    outgoing.end(body);
  });
}

/** Opens a WebSocket, says one thing and hears it back. */
export function callSocket(bed: Bed, path: string, headers: Readonly<Record<string, string>>): Promise<Seen> {
  const id = randomUUID();
  return new Promise((resolve) => {
    let [status, requestId]: [number | undefined, string | undefined] = [undefined, undefined];
    let body = '';
    let hung = false;
    const socket = new WebSocket(bed.url.replace('http', 'ws') + path, { headers: { ...headers, 'x-call': id } });
    const timer = setTimeout(() => {
      hung = true;
      socket.terminate();
    }, PATIENCE_MS);
    socket.on('unexpected-response', (_, response) => {
      status = response.statusCode;
      requestId = response.headers['x-request-id']?.toString();
      socket.terminate();
    });
    socket.on('open', () => {
      status = 101;
      socket.send(id);
    });
    socket.on('message', (message: Buffer) => {
      body += message.toString() === id ? 'echo' : 'foreign';
      socket.terminate();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ id, status, whole: body !== '' || (status ?? 101) >= 300, body, requestId, hung });
    });
  });
}
