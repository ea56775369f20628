import { connect, type Socket } from 'node:net';
import type { Request } from './wrk.ts';

/** A persistent connection for one request at a time. `bytes` is the whole request. */
export interface Connection {
  /** Resolves with the status after the end of the answer, or with 0 if the connection broke first. */
  ask(bytes: Buffer): Promise<number>;
  close(): void;
}

/** The bytes of a request. */
export function bytesOf(url: string, { method, path, headers, body = '' }: Request): Buffer {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = method === 'POST' ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : '';
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${fields.join('')}${length}\r\n${body}`,
  );
}

/** Opens a connection. Opens it again after a failure, for the next request. */
export function openConnection(url: string): Connection {
  const { hostname, port } = new URL(url);
  let socket: Socket | undefined;
  let text = '';
  let answered: ((status: number) => void) | undefined;

  function settle(status: number): void {
    text = '';
    const settled = answered;
    answered = undefined;
    settled?.(status);
  }

  function opened(): Socket {
    const fresh = connect({ port: Number(port), host: hostname, noDelay: true }).setEncoding('latin1');
    fresh.on('data', (part: string) => {
      text += part;
      if (!isWhole(text)) return;
      const status = Number(text.slice(9, 12));
      if (/\r\nconnection: close/i.test(text)) {
        socket = undefined;
        fresh.destroy();
      }
      settle(status);
    });
    fresh.on('error', () => {});
    fresh.on('close', () => {
      if (socket !== fresh) return;
      socket = undefined;
      settle(0);
    });
    return fresh;
  }

  return {
    ask(bytes) {
      socket ??= opened();
      socket.write(bytes);
      return new Promise((resolve) => {
        answered = resolve;
      });
    },
    close() {
      socket?.destroy();
      socket = undefined;
    },
  };
}

/** Whether an answer is complete. Knows only the forms that our upstreams send. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /\r\ncontent-length: *([0-9]+)/i.exec(text)?.[1];
  if (length !== undefined) return text.length >= end + 4 + Number(length);
  return text.endsWith('\r\n0\r\n\r\n');
}
