import { connect, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { pem } from './certificates.ts';

/** Connects to the host and port of a URL; over TLS for `https:`, where the certificates of the tests are trusted. */
export function connectTo(url: string, onConnect: () => void): Socket {
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'https:') return connectSecure({ host: hostname, port: Number(port), ca: pem('ca') }, onConnect);
  return connect(Number(port), hostname, onConnect);
}

/** Sends bytes as they are and returns what comes back until the peer ends, or `quietMs` pass without a byte. */
export function exchangeRaw(url: string, bytes: string | Buffer, quietMs = 400): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connectTo(url, () => socket.write(bytes));
    socket.setTimeout(quietMs, () => socket.destroy());
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(received));
  });
}
