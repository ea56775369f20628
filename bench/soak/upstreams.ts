import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { listen, type Running } from '../../demo/listen.ts';

/** The HTTP API behind the gateway: whole answers, answers that never come, event streams and a WebSocket that echoes. */
export interface Api extends Running {
  /** Emits the `traceparent` of each request that will not be answered, when it has come. */
  readonly unanswered: EventEmitter;
}

const TICK_MS = 500;

/** Starts the API; `told` hears of each WebSocket handshake. */
export async function startApi(told: (request: IncomingMessage) => void): Promise<Api> {
  const unanswered = new EventEmitter().setMaxListeners(0);
  const server = createServer((request, response) => answer(request, response, unanswered));
  // Streams and WebSockets of people who come and go.
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, request) => {
    told(request);
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
 * Tells of each request but WebSocket handshakes that a server of this process gets, before the server itself knows: so
 * those of the official SDKs are counted as they are.
 *
 * @returns a function that stops it.
 */
export function onRequestTo(url: string, told: (request: IncomingMessage) => void): () => void {
  const port = Number(new URL(url).port);
  const onStart = (message: unknown): void => {
    const { request, socket } = message as { request: IncomingMessage; socket: Socket };
    if (socket.localPort === port) told(request);
  };
  subscribe('http.server.request.start', onStart);
  return () => unsubscribe('http.server.request.start', onStart);
}
