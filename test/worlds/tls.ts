import { once } from 'node:events';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { createCertificateOf } from '../../src/core/gateway/listen/certificates.ts';
import { openCertificate } from '../../src/serve/own-certificate.ts';
import { listen, type Listener, defaultPatience } from '../../src/core/gateway/listen/server.ts';
import type { Tls } from '../../src/core/model/listen.ts';
import type { TlsObserver } from '../../src/core/model/events.ts';
import { asClient, certificate } from '../support/certificates.ts';
import { until } from '../support/until.ts';

/** A TLS listener that answers with the thumbprint of its client's certificate, or `none`. */
export interface TlsWorld {
  readonly url: string;
  readonly port: number;
  /** The events of the listener: `in force DATE`, `refused …`, `failed …`, `client …`. */
  readonly told: string[];
  /** Resolves when the newest event begins so. */
  tells(beginning: string): Promise<true>;
  close(graceMs?: number): Promise<void>;
}

/** Starts one. Default: the certificate `server`, and no client certificates. */
export async function startTlsWorld(files: Partial<Tls> = {}, patience = defaultPatience): Promise<TlsWorld> {
  const told: string[] = [];
  const observer: TlsObserver = {
    certificateInForce: (expiresAt) => told.push(`in force ${expiresAt.toISOString()}`),
    certificateRefused: (detail) => told.push(`refused ${detail}`),
    handshakeFailed: (detail) => told.push(`failed ${detail}`),
    clientCertificateRefused: (detail) => told.push(`client ${detail}`),
  };
  const tls: Tls = { cert: certificate('server'), key: certificate('server-key'), clientCa: undefined, ...files };
  const own = await openCertificate(tls, observer, Date.now);
  const certificateOf = createCertificateOf(tls.clientCa);
  const listener: Listener = await listen({
    address: { host: '127.0.0.1', port: 0 },
    maxHeaderBytes: 16_384,
    idleMs: 75_000,
    onRequest: (request, response) => response.end(certificateOf(request.socket) ?? 'none'),
    onMalformed(_reason, detail) {
      told.push(`malformed ${detail}`);
      return { status: 400, requestId: 'x' };
    },
    security: { certificate: own, observer },
    patience,
  });
  return {
    url: listener.url,
    port: Number(new URL(listener.url).port),
    told,
    tells: (beginning) => until(() => told.at(-1)?.startsWith(beginning) === true, `${beginning} after ${told.join()}`),
    async close(graceMs = 0) {
      await listener.close(graceMs);
      own.close();
    },
  };
}

/** A client's end of a connection. */
export interface SecureClient {
  readonly socket: TLSSocket;
  /** Sends another request on this connection, and returns the body of the answer. */
  readonly ask: () => Promise<string>;
}

/** Connects with the certificate of `name`, if any. */
export async function connectAs(
  { port }: TlsWorld,
  name?: string,
  options: ConnectionOptions = {},
): Promise<SecureClient> {
  const socket = connect({ host: '127.0.0.1', port, ...asClient(name), ...options });
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  await once(socket, 'secureConnect');
  return {
    socket,
    async ask() {
      received = '';
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await until(() => /\r\n\r\n.+$/s.test(received), 'an answer');
      return received.slice(received.indexOf('\r\n\r\n') + 4);
    },
  };
}

/** Connects, sends one request and disconnects. */
export async function askAs(world: TlsWorld, name?: string, options: ConnectionOptions = {}): Promise<string> {
  const { socket, ask } = await connectAs(world, name, options);
  return await ask().finally(() => socket.destroy());
}
