import type { IncomingMessage } from 'node:http';
import type { Dispatcher } from 'undici';
import { declaresBody } from '../../lib/http/header-fields.ts';
import { drain, YieldingStream } from '../../lib/http/bodies.ts';
import type { Call } from '../../model/call.ts';
import type { StatesCaller } from '../../model/on-route.ts';
import type { CallRight, GrantedCall } from '../../model/grant.ts';
import type { Route } from '../../model/route.ts';
import type { ConnectionPools } from './connection-pool.ts';
import { Relay, type RelayParts } from './relay.ts';
import { createRequestHeaders, createUpstreamPath, receivedPath } from './upstream-request.ts';

/** The parts that forwarding on a route is made of. */
export interface ForwardParts extends Omit<RelayParts, 'route'> {
  readonly publicUrl: string;
  readonly connections: ConnectionPools;
  /** The identity headers of all routes, as `identityNames` returns them. */
  readonly claimed: ReadonlyMap<string, string>;
  /** Make the values of the statements of the upstream. */
  readonly states: readonly StatesCaller[];
  /** Requires that nothing has ended the right of a caller since the decision. @throws {Denial} */
  readonly requireRight: (right: CallRight) => void;
}

/** How long a client that is still sending has to read its answer. */
const LINGER_MS = 1_000;

/**
 * Creates the forwarding of a route: it streams a granted call to its upstream, and the answer to the client.
 *
 * @returns a function that settles when the answer has ended. It throws {Denial} `upstream.*` only before the answer
 *   begins; a later failure breaks the answer off.
 */
export function createForward(route: Route, parts: ForwardParts): (granted: GrantedCall) => Promise<void> {
  const { publicUrl, connections, claimed, states, messages, requireRight } = parts;
  const upstream = connections.to(route.upstream);
  const upstreamPath = createUpstreamPath(route);
  const requestHeaders = createRequestHeaders(route, publicUrl, claimed, states);
  const { responseTimeoutMs } = route.upstream;
  const relayParts: RelayParts = { route, ...parts };

  return (granted) => {
    const { call, grant, held, counted } = granted;
    // The client left during an earlier stage: no `close` event will follow.
    if (call.response.closed) return Promise.resolve();
    const filter = messages?.filter(granted);
    const body = grant.action.body ?? streamedBody(call, () => requireRight(granted));
    const options: Dispatcher.DispatchOptions = {
      path: upstreamPath(receivedPath(call), call.query),
      method: call.method,
      headers: requestHeaders(granted, filter?.acceptEncoding),
      body,
      headersTimeout: responseTimeoutMs,
    };
    return new Promise((resolve, reject) => {
      const fail = body instanceof YieldingStream ? destroying(body, reject) : reject;
      upstream.dispatch(
        options,
        new Relay(relayParts, { call, grant, held, counted, responseTimeoutMs }, filter, { resolve, reject: fail }),
      );
    });
  };
}

/**
 * The body of a call that no stage has read, or null. It passes through a stream of its own: undici destroys the body
 * of a failed request, and the gateway must still answer the client's request.
 *
 * @param requireRight Called before each piece: a client that lost its right must not complete what it began.
 */
function streamedBody({ request, fields }: Call, requireRight: () => void): YieldingStream | null {
  if (!declaresBody(fields)) return null;
  const body = new YieldingStream(requireRight);
  // undici listens only while it sends. An error without a listener would end the process.
  body.on('error', () => {});
  body.once('close', () => drainForAMoment(request.unpipe(body)));
  request.once('close', () => {
    if (!request.complete) body.destroy(new Error('the client ended before its body'));
  });
  return request.pipe(body);
}

/** undici does not destroy a body that it has not begun to send. */
function destroying(body: YieldingStream, reject: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    body.destroy();
    reject(error);
  };
}

/** Drains the rest of a body for a moment, so that the client finishes sending and reads its answer. */
function drainForAMoment(request: IncomingMessage): void {
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  request.once('close', () => clearTimeout(timer));
  drain(request);
}
