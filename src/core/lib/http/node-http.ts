import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

/**
 * Node's HTTP module. An `import` of `node:http` would evaluate every export. The getters of `WebSocket` and its like
 * load Node's built-in `fetch`, which takes longer than all modules of the gateway and which the gateway does not use.
 */
export const http = process.getBuiltinModule('node:http');

/**
 * Has a server listen, and resolves with the address that it got: `host:port`, as a URL has it.
 *
 * @param port 0: the system chooses.
 * @throws the system's error if the address cannot be listened on.
 */
export async function listenAt(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  await once(server.listen(port, host), 'listening');
  const { address, family, port: taken } = server.address() as AddressInfo;
  return `${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
}

/** A listener that runs. */
export interface Listening {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/**
 * Starts a listener of plain HTTP.
 *
 * @param graceMs How long requests in progress may take once it closes.
 * @throws the system's error if the address cannot be listened on.
 */
export async function startListener(
  server: HttpServer,
  address: Parameters<typeof listenAt>[1],
  graceMs = 0,
): Promise<Listening> {
  const url = `http://${await listenAt(server, address)}`;
  return {
    url,
    async close() {
      const { promise: closed, resolve } = Promise.withResolvers<unknown>();
      // Also of a listener that is closed already.
      server.close(resolve);
      server.closeIdleConnections();
      const ending = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(ending);
    },
  };
}

/**
 * Remembers a value for a socket until it closes. Node keeps a closed socket until the next full collection, and with
 * it what a WeakMap has for it: a request, its call and its answer.
 */
export function rememberWhileOpen<Value>(values: WeakMap<object, Value>, socket: Socket, value: Value): void {
  if (!values.has(socket)) socket.on('close', () => values.delete(socket));
  values.set(socket, value);
}
