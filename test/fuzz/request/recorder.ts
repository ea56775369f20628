import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen } from '../../../demo/listen.ts';

/** A request that reached the upstream: its bytes, and Node's reading of them. */
export interface Recorded {
  /** All bytes on the connection since the previous request. */
  readonly raw: Buffer;
  readonly method: string;
  readonly target: string;
  /** name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Whether its end arrived. */
  readonly complete: boolean;
}

/** The value of a field; `''` without one. */
export function fieldOf({ rawHeaders }: Recorded, name: string): string {
  const at = rawHeaders.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === name);
  return at === -1 ? '' : (rawHeaders[at + 1] ?? '');
}

/** An upstream that records each byte. */
export interface Recorder {
  readonly url: string;
  /** Parser errors since the last call. */
  takeMalformed(): readonly string[];
  close(): Promise<void>;
}

/** Starts the recorder. Calls `answer` for each complete request, `reached` for any, and `active` on each event. */
export async function startRecorder(
  answer: (request: Recorded, response: ServerResponse) => void,
  reached: (request: Recorded) => void,
  active: () => void,
): Promise<Recorder> {
  const pending = new WeakMap<Socket, Buffer[]>();
  const malformed: string[] = [];
  const server = createServer({ maxHeaderSize: 256 * 1024, keepAliveTimeout: 120_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(recordOf(request, Buffer.concat(chunks), true), response));
    request.on('close', () => {
      if (!request.complete) recordOf(request, Buffer.concat(chunks), false);
    });
    request.on('error', () => {});
  });
  server.maxHeadersCount = 0;
  server.on('connection', (socket) => {
    pending.set(socket, []);
    socket.on('data', (chunk) => {
      active();
      pending.get(socket)?.push(chunk);
    });
    socket.on('close', active);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A client that leaves in the middle of a request is not an error.
    if (error.code !== 'HPE_INVALID_EOF_STATE' && error.code !== 'ECONNRESET') malformed.push(error.message);
    socket.destroy();
  });

  function recordOf(
    { method = '', url = '', rawHeaders, socket }: IncomingMessage,
    body: Buffer,
    complete: boolean,
  ): Recorded {
    const raw = Buffer.concat(pending.get(socket) ?? []);
    pending.set(socket, []);
    const recorded = { raw, method, target: url, rawHeaders, body, complete };
    reached(recorded);
    return recorded;
  }

  return {
    ...(await listen(server, 0)),
    takeMalformed: () => malformed.splice(0),
  };
}
