import { PassThrough } from 'node:stream';
import { errors, type Dispatcher } from 'undici';
import type { Clock } from '../lib/clock.ts';
import { atDeadline } from '../lib/deadline.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Grant, UpstreamCredential } from '../model/grant.ts';
import type { ForwardObserver } from '../model/observer.ts';
import type { Route } from '../model/route.ts';
import type { Pools } from './pools.ts';
import { createRequestHeaders } from './request-headers.ts';
import { responseHeaders } from './response-headers.ts';
import { createUpstreamPath } from './upstream-path.ts';

/**
 * Sends a granted call to its upstream and the answer back, both as they flow. Settles when the answer has ended.
 *
 * @throws {Denial} `upstream.*`, only while nothing has been answered; after that a failure breaks the answer off.
 */
export type Forward = (call: Call, grant: Grant, credential: UpstreamCredential) => Promise<void>;

/** Creates the forwarding of a route. */
export function createForward(
  route: Route,
  publicUrl: string,
  pools: Pools,
  observer: ForwardObserver,
  clock: Clock,
): Forward {
  const pool = pools.to(route.upstream);
  const upstreamPath = createUpstreamPath(route);
  const requestHeaders = createRequestHeaders(route, publicUrl);
  const headersTimeout = route.upstream.responseTimeoutMs;

  return (call, grant, credential) => {
    // The client left while somebody was asked; `close` will not come again to tell.
    if (call.response.closed) return Promise.resolve();
    const options: Dispatcher.DispatchOptions = {
      path: upstreamPath(call.path, call.query),
      method: call.method,
      headers: requestHeaders(call, grant, credential),
      body: grant.action.body ?? streamedBody(call),
      headersTimeout,
    };
    return new Promise((resolve, reject) => {
      pool.dispatch(options, new Relay(route, call, grant, observer, clock, resolve, reject));
    });
  };
}

/**
 * The body of a call that nobody reads, or null. It goes through a stream of its own: undici destroys the body of a
 * request that fails, and the client's request must live to be answered.
 */
function streamedBody({ request, fields }: Call): PassThrough | null {
  if (fields.transferEncoding === undefined && Number(fields.contentLength ?? 0) === 0) return null;
  const body = new PassThrough();
  request.once('close', () => {
    if (!request.complete) body.destroy(new Error('the client ended before its body'));
  });
  return request.pipe(body);
}

/** One answer on its way from the upstream to the client. */
class Relay implements Dispatcher.DispatchHandler {
  readonly #route: Route;
  readonly #call: Call;
  readonly #grant: Grant;
  readonly #observer: ForwardObserver;
  readonly #clock: Clock;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  readonly #sentAt = performance.now();
  #controller: Dispatcher.DispatchController | undefined;
  #isStream = false;
  #settled = false;
  #callOffExpiry = (): void => {};

  constructor(
    route: Route,
    call: Call,
    grant: Grant,
    observer: ForwardObserver,
    clock: Clock,
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.#route = route;
    this.#call = call;
    this.#grant = grant;
    this.#observer = observer;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#reject = reject;
    call.response.on('close', () => this.#clientClosed());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error('the client went away'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, statusMessage = ''): void {
    // RFC 9110 §15.2: interim answers are between the upstream and us.
    if (status < 200) return;
    const { response } = this.#call;
    this.#observer.upstreamAnswered(this.#route, performance.now() - this.#sentAt);
    const { fields, hasDate, isEventStream } = responseHeaders((controller.rawHeaders ?? []) as Buffer[]);
    if (hasDate) response.sendDate = false;
    response.writeHead(status, statusMessage, fields);
    if (!isEventStream) return;
    this.#isStream = true;
    this.#observer.streamOpened(this.#route);
    response.flushHeaders();
    const expiresAt = (this.#grant.principal?.expiresAt ?? Infinity) * 1000;
    this.#callOffExpiry = atDeadline(expiresAt, () => this.#expire(), this.#clock);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#call.response.write(chunk)) return;
    controller.pause();
    this.#call.response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#settle();
    this.#call.response.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    const { response } = this.#call;
    if (!response.headersSent) {
      this.#settle(upstreamDenial(error));
      return;
    }
    // A broken chunked or counted body is what tells the client that this is not the end.
    this.#settle();
    response.destroy();
  }

  /** A stream that outlives its token would serve somebody who may have been locked out; ended cleanly, it reconnects. */
  #expire(): void {
    this.#settle();
    this.#call.response.end();
    this.#controller?.abort(new Error('the token expired'));
  }

  #clientClosed(): void {
    if (this.#settled) return;
    this.#settle();
    this.#controller?.abort(new Error('the client went away'));
  }

  #settle(denial?: Denial): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#callOffExpiry();
    if (this.#isStream) this.#observer.streamClosed(this.#route);
    if (denial === undefined) this.#resolve();
    else this.#reject(denial);
  }
}

function upstreamDenial(error: Error): Denial {
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError) {
    return new Denial('upstream.timeout', error.message, { cause: error });
  }
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) {
    return new Denial('upstream.invalid', error.message, { cause: error });
  }
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return new Denial('upstream.unreachable', `${code}${error.message}`, { cause: error });
}
