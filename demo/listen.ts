import { once } from 'node:events';
import type { Server } from 'node:http';

/** A running server of the demo. */
export interface Running {
  /** Its origin with its actual port, without a trailing slash. */
  readonly url: string;
  /** Stops the server and closes every connection to it. */
  readonly close: () => Promise<void>;
}

/**
 * Binds a server and returns its URL and a way to stop it. Port 0 lets the system choose.
 *
 * @throws the system's error, `EADDRINUSE` for a busy port.
 */
export async function listen(server: Server, port: number, host = '127.0.0.1'): Promise<Running> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  const boundPort = typeof address === 'object' && address ? address.port : port;
  return {
    url: `http://${host}:${boundPort}`,
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      // An open event stream would keep the process alive.
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * Runs a server of the demo as a separate process until a signal stops it, with `PORT` and `HOST` of the environment.
 * Docker Compose starts each server this way.
 */
export async function serveAlone(name: string, defaultPort: number, start: Start): Promise<void> {
  let running: Running;
  try {
    running = await start(Number(process.env.PORT ?? defaultPort), process.env.HOST ?? '127.0.0.1');
  } catch (error) {
    if (!isBusyPort(error)) throw error;
    console.error(`${name}: ${error.address}:${error.port} is in use; choose another port with PORT`);
    process.exitCode = 1;
    return;
  }
  console.log(`${name} listens at ${running.url}`);
  const stop = (): void => void running.close();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

function isBusyPort(error: unknown): error is Error & { readonly address: string; readonly port: number } {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}

type Start = (port: number, host: string) => Promise<Running>;
