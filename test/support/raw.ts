import { connect, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { pem } from './certificates.ts';

/** Connects to the host and port of a URL; over TLS for `https:`, where the certificates of the tests are trusted. */
export function connectTo(url: string, onConnect: () => void): Socket {
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'https:') return connectSecure({ host: hostname, port: Number(port), ca: pem('ca') }, onConnect);
  return connect(Number(port), hostname, onConnect);
}

/** How long a peer may think before its first byte; a busy machine needs it. */
const PATIENCE_MS = 10_000;
/** A pause counts in steps: a process that stood still for its length has waited for one of them only. */
const STEPS = 8;

/**
 * Sends bytes as they are and returns what comes back until the peer ends, or `quietMs` pass without a byte after the
 * first.
 */
export function exchangeRaw(url: string, bytes: string | Buffer, quietMs = 400): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    let quiet = 0;
    const socket = connectTo(url, () => socket.write(bytes));
    const watch = setInterval(() => {
      quiet++;
      if (quiet > (received === '' ? (STEPS * PATIENCE_MS) / quietMs : STEPS)) socket.destroy();
    }, quietMs / STEPS);
    socket.on('data', (chunk) => {
      quiet = 0;
      received += chunk.toString('latin1');
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearInterval(watch);
      resolve(received);
    });
  });
}
