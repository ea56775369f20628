import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Below the ephemeral ports: those of Linux begin at 32768, others at 49152. */
const [FIRST, LAST] = [20_000, 32_000];
/** The ports that this process has returned, perhaps for a program that does not listen yet. */
const given = new Set<number>();

/**
 * A port of this machine that was free a moment ago: for programs that cannot choose one and say which. No connection takes
 * it before the program does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    if (given.has(port)) continue;
    given.add(port);
    return port;
  }
}

/** Whether a server accepts connections at a port. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
