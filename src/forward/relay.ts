import { errors, type Dispatcher } from 'undici';
import type { Clock } from '../lib/clock.ts';
import type { BodyFilter } from '../mcp/body-filter.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Grant } from '../model/grant.ts';
import type { ForwardObserver } from '../model/observer.ts';
import type { Route } from '../model/route.ts';
import type { ChooseFilter } from './answer-filter.ts';
import { createKeepalive, type Keepalive } from './keepalive.ts';
import type { OpenStreams } from './open-streams.ts';
import { responseHeaders, type OwnHeaders } from './response-headers.ts';
import { guardStream, type Revalidate } from './stream-guards.ts';

/** What an answer needs on its way. */
export interface RelayParts {
  readonly route: Route;
  readonly call: Call;
  readonly grant: Grant;
  readonly own: OwnHeaders;
  /** Told that the upstream did not take the credential of this call; undefined where that was not of our making. */
  readonly onUnauthorized: ((grant: Grant) => void) | undefined;
  /** For a successful answer that may have to be changed. */
  readonly chooseFilter: ChooseFilter | undefined;
  readonly revalidate: Revalidate | undefined;
  readonly streams: OpenStreams;
  readonly observer: ForwardObserver;
  readonly clock: Clock;
}

/** A body up to this size that is whole when it comes goes out in one piece with its header section. */
const MAX_WHOLE_BYTES = 16 * 1024;

/** What Node sends on; it throws on the rest, which clients SHOULD ignore anyway, RFC 9112 §4. */
const reasonPhrase = /^[\t -~]*$/;

/** One answer on its way from the upstream to the client, as undici hands it over. */
export class Relay implements Dispatcher.DispatchHandler {
  readonly #parts: RelayParts;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  readonly #sentAt = performance.now();
  #controller: Dispatcher.DispatchController | undefined;
  #filter: BodyFilter | undefined;
  #keepalive: Keepalive | undefined;
  #stopGuards: (() => void) | undefined;
  /** The first bytes of the body, until it is known whether they are the last ones too. */
  #held: Buffer | undefined;
  #begun = false;
  #settled = false;

  constructor(parts: RelayParts, resolve: () => void, reject: (error: unknown) => void) {
    this.#parts = parts;
    this.#resolve = resolve;
    this.#reject = reject;
    parts.call.response.on('close', () => this.#abort('the client went away'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error('the client went away'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, statusMessage = ''): void {
    // RFC 9110 §15.2: interim answers are between the upstream and us.
    if (status < 200) return;
    const { route, call, grant, own, chooseFilter, observer } = this.#parts;
    observer.upstreamAnswered(route, performance.now() - this.#sentAt);
    if (status === 401) this.#parts.onUnauthorized?.(grant);
    // The upstream of an MCP route sees no token of the client's; a client that is told to get another would loop.
    if (status === 401 && route.protocol === 'mcp') throw new Denial('upstream.invalid', 'the upstream answered 401');
    // An error tells no names and gives out no handles.
    const filter = status < 300 && status !== 204 ? chooseFilter : undefined;
    const answer = responseHeaders((controller.rawHeaders ?? []) as Buffer[], call, grant, own, filter !== undefined);
    this.#filter = filter?.(answer);
    if (answer.hasDate) call.response.sendDate = false;
    call.response.writeHead(status, reasonPhrase.test(statusMessage) ? statusMessage : undefined, answer.fields);
    // When all that came with them has been handed over: most answers are whole then, those that are called streams too.
    process.nextTick(showArrived, this, answer.isEventStream);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#filter === undefined) this.#pass(controller, chunk);
    else for (const part of this.#filter.push(chunk)) this.#pass(controller, part);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#filter !== undefined) for (const part of this.#filter.end()) this.#pass(controller, part);
    this.#settle();
    const { response } = this.#parts.call;
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) response.end();
    // Node joins a string with the header section, and copies neither.
    else if (held.length <= MAX_WHOLE_BYTES) response.end(held.toString('latin1'), 'latin1');
    else response.end(held);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    const { response } = this.#parts.call;
    if (!response.headersSent) {
      this.#settle(upstreamDenial(error));
      return;
    }
    // A broken chunked or counted body is what tells the client that this is not the end.
    this.#settle();
    response.destroy();
  }

  #pass(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#keepalive?.passed(chunk);
    if (!this.#begun) {
      this.#begun = true;
      this.#held = chunk;
      return;
    }
    this.#write(controller, this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]));
    this.#held = undefined;
  }

  #write(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { response } = this.#parts.call;
    if (response.write(chunk) || controller.paused) return;
    controller.pause();
    response.once('drain', () => controller.resume());
  }

  /** Lets go what has come so far: the header section, with the first bytes of the body or without. */
  showArrived(isEventStream: boolean): void {
    if (this.#settled) return;
    if (isEventStream) this.#openStream();
    const held = this.#held;
    this.#held = undefined;
    this.#begun = true;
    if (held === undefined) this.#parts.call.response.flushHeaders();
    else if (this.#controller !== undefined) this.#write(this.#controller, held);
  }

  #openStream(): void {
    const { route, call, grant, revalidate, streams, observer, clock } = this.#parts;
    const { response } = call;
    observer.streamOpened(route);
    if (route.keepaliveMs !== undefined) {
      this.#keepalive = createKeepalive(route.keepaliveMs, (chunk) => response.write(chunk));
    }
    // Ended cleanly, so that the client reconnects, and is challenged.
    const end = (why: string): void => {
      response.end();
      this.#abort(why);
    };
    this.#stopGuards = guardStream({ route, call, grant, isUpgrade: false, end }, revalidate, streams, clock);
  }

  #abort(why: string): void {
    if (this.#settled) return;
    this.#settle();
    this.#controller?.abort(new Error(why));
  }

  #settle(denial?: Denial): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#keepalive?.stop();
    if (this.#stopGuards !== undefined) {
      this.#stopGuards();
      this.#parts.observer.streamClosed(this.#parts.route);
    }
    if (denial === undefined) this.#resolve();
    else this.#reject(denial);
  }
}

function showArrived(relay: Relay, isEventStream: boolean): void {
  relay.showArrived(isEventStream);
}

function upstreamDenial(error: Error): Denial {
  if (error instanceof Denial) return error;
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError) {
    return new Denial('upstream.timeout', error.message, { cause: error });
  }
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) {
    return new Denial('upstream.invalid', error.message, { cause: error });
  }
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return new Denial('upstream.unreachable', `${code}${error.message}`, { cause: error });
}
