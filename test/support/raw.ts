import { connect } from 'node:net';

/** Sends bytes as they are and returns what comes back until the peer ends, or `quietMs` pass without a byte. */
export function exchangeRaw(url: string, bytes: string | Buffer, quietMs = 400): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setTimeout(quietMs, () => socket.destroy());
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(received));
  });
}
