import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { listen, type Running } from '../../demo/listen.ts';

/** The HTTP API behind the gateway, with complete answers, missing answers, event streams and an echoing WebSocket. */
export interface Api extends Running {
  /** Emits the `traceparent` of each arriving request that gets no answer. */
  readonly unanswered: EventEmitter;
}

const TICK_MS = 500;

/** Starts the API. Calls `onHandshake` for each WebSocket handshake. */
export async function startApi(onHandshake: (request: IncomingMessage) => void): Promise<Api> {
  const unanswered = new EventEmitter().setMaxListeners(0);
  const server = createServer((request, response) => answer(request, response, unanswered));
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, request) => {
    onHandshake(request);
    socket.on('message', (message) => socket.send(message)).on('error', () => socket.terminate());
  });
  const running = await listen(server, 0);
  return {
    ...running,
    unanswered,
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      await running.close();
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse, unanswered: EventEmitter): void {
  const { pathname } = new URL(request.url ?? '/', 'http://api');
  if (pathname === '/slow') return void unanswered.emit(String(request.headers.traceparent));
  if (pathname === '/events') return ticks(response);
  let bytes = 0;
  request.on('data', (chunk: Buffer) => (bytes += chunk.length));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ bytes, user: request.headers['x-auth-subject'], padding: 'x'.repeat(250) }));
  });
}

function ticks(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const tick = (): void => void response.write(`data: ${Date.now()}\n\n`);
  const timer = setInterval(tick, TICK_MS);
  response.on('close', () => clearInterval(timer));
  tick();
}

/**
 * Calls `onRequest` for each request, except WebSocket handshakes, to a server of this process, before the server gets
 * it. This also works for the servers of the official SDKs.
 *
 * @returns a function that stops it.
 */
export function onRequestTo(url: string, onRequest: (request: IncomingMessage) => void): () => void {
  const port = Number(new URL(url).port);
  const onStart = (message: unknown): void => {
    const { request, socket } = message as { request: IncomingMessage; socket: Socket };
    if (socket.localPort === port) onRequest(request);
  };
  subscribe('http.server.request.start', onStart);
  return () => unsubscribe('http.server.request.start', onStart);
}
