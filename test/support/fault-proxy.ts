import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A fault of connections, including open ones. */
export type ConnectionFault =
  /** Refuses new connections and ends open ones. */
  | { readonly kind: 'refuse' }
  /** Connections are taken, and reset. */
  | { readonly kind: 'reset' }
  /** Connections are taken, and not a byte passes either way. */
  | { readonly kind: 'stall' }
  /** One byte of the answers at a time. */
  | { readonly kind: 'drip'; readonly everyMs: number }
  /** The gateway's peer ends its way (FIN) once it has been spoken to, and goes on reading. */
  | { readonly kind: 'half-open' }
  /** Ends both directions when one of them has passed this number of bytes since the fault began. */
  | { readonly kind: 'cut'; readonly way: 'requests' | 'answers'; readonly after: number };

/** A wire between a client and a server that fails on demand. */
export interface FaultProxy {
  readonly port: number;
  /** Connections open now, of both sides. */
  readonly sockets: ReadonlySet<Socket>;
  /** Undefined: all is well again. */
  fault(fault: ConnectionFault | undefined): Promise<void>;
  close(): Promise<void>;
}

/** One connection of a client, and the one to the server that belongs to it. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** What passed since the fault began. */
  readonly passed: { requests: number; answers: number };
  /** Answers that drip. */
  held: Buffer;
}

/** Starts one in front of `target` on loopback. `gatewayIs` says on which side of it the gateway is. */
export async function startFaultProxy(target: number, gatewayIs: 'client' | 'server'): Promise<FaultProxy> {
  const pairs = new Set<Pair>();
  const sockets = new Set<Socket>();
  let current: ConnectionFault | undefined;
  let drip: NodeJS.Timeout | undefined;

  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    const pair: Pair = { client, server, passed: { requests: 0, answers: 0 }, held: Buffer.alloc(0) };
    pairs.add(pair);
    join(pair, client, server, 'requests');
    join(pair, server, client, 'answers');
    strike(pair);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;

  function join(pair: Pair, from: Socket, to: Socket, way: 'requests' | 'answers'): void {
    sockets.add(from);
    from.on('error', () => {});
    from.once('close', () => {
      sockets.delete(from);
      to.destroy();
      pairs.delete(pair);
    });
    from.once('end', () => {
      if (current?.kind !== 'half-open') to.end(way === 'answers' ? pair.held : '');
    });
    to.on('drain', () => {
      if (current?.kind !== 'stall') from.resume();
    });
    from.on('data', (chunk) => pass(pair, from, to, way, chunk));
  }

  function pass(pair: Pair, from: Socket, to: Socket, way: 'requests' | 'answers', chunk: Buffer): void {
    pair.passed[way] += chunk.length;
    if (current?.kind === 'cut' && current.way === way && pair.passed[way] > current.after) {
      const over = pair.passed[way] - current.after;
      if (over < chunk.length) to.write(chunk.subarray(0, chunk.length - over));
      end(pair);
    } else if (current?.kind === 'half-open' && way === 'requests') {
      if (gatewayIs === 'server') to.end(chunk);
      else from.end();
    } else if (current?.kind === 'drip' && way === 'answers') {
      pair.held = Buffer.concat([pair.held, chunk]);
    } else if (to.writable && !to.write(chunk)) from.pause();
  }

  /** Lets a connection feel the fault at once. */
  function strike(pair: Pair): void {
    pair.passed.requests = pair.passed.answers = 0;
    if (current?.kind === 'reset') for (const socket of [pair.client, pair.server]) socket.resetAndDestroy();
    else if (current?.kind === 'refuse') end(pair);
    else if (current?.kind === 'stall') for (const socket of [pair.client, pair.server]) socket.pause();
  }

  return {
    port,
    sockets,
    async fault(fault) {
      const before = current;
      current = fault;
      clearInterval(drip);
      for (const pair of pairs) {
        if (fault !== undefined) strike(pair);
        // Whose FIN came in the middle of it is no connection any more.
        else if (before?.kind === 'half-open') end(pair);
        else mend(pair);
      }
      if (fault?.kind === 'drip') drip = setInterval(() => pairs.forEach(dripOne), fault.everyMs);
      if (fault?.kind === 'refuse') listener.close();
      else if (before?.kind === 'refuse') await once(listener.listen(port, '127.0.0.1'), 'listening');
    },
    async close() {
      clearInterval(drip);
      for (const pair of pairs) end(pair);
      if (!listener.listening) return;
      listener.close();
      await once(listener, 'close');
    },
  };
}

function end({ client, server }: Pair): void {
  client.destroy();
  server.destroy();
}

function mend(pair: Pair): void {
  if (pair.client.writable) pair.client.write(pair.held);
  pair.held = Buffer.alloc(0);
  pair.client.resume();
  pair.server.resume();
}

function dripOne(pair: Pair): void {
  if (pair.held.length === 0 || !pair.client.writable) return;
  pair.client.write(pair.held.subarray(0, 1));
  pair.held = pair.held.subarray(1);
}
