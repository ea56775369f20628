import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clock } from '../lib/clock.ts';
import type { BodyFilter } from '../mcp/body-filter.ts';
import { subscriptionEnd } from '../mcp/event-stream.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Grant, HeldToken } from '../model/grant.ts';
import type { ForwardObserver } from '../model/observer.ts';
import type { Route } from '../model/route.ts';
import type { AnswerFilter } from './answer-filter.ts';
import { ClientAnswer } from './client-answer.ts';
import { createEventBoundary, createKeepalive, type EventBoundary, type Keepalive } from './keepalive.ts';
import { guardStream, type OpenStreams } from './open-streams.ts';
import type { CleanAnswer, ResponseHeaders } from './response-headers.ts';
import { unreadableAnswer, upstreamDenial } from './upstream-denial.ts';

/** What all answers on a route need on their way. */
export interface RelayParts {
  readonly route: Route;
  readonly cleanAnswer: CleanAnswer;
  /** Told that the upstream did not take the credential of a call; undefined where that was not of our making. */
  readonly onUnauthorized: ((grant: Grant) => void) | undefined;
  readonly streams: OpenStreams;
  readonly observer: ForwardObserver;
  readonly clock: Clock;
}

/** What is answered. */
export interface Forwarded {
  readonly call: Call;
  readonly grant: Grant;
  /** For a successful answer that may have to be changed. */
  readonly filter: AnswerFilter | undefined;
  /** Undefined on a public route. */
  readonly held: HeldToken | undefined;
  /** How long the upstream may take to the end of its header section, whatever interim answers it sends. */
  readonly responseTimeoutMs: number;
}

/** One answer on its way from the upstream to the client, as undici hands it over. */
export class Relay implements Dispatcher.DispatchHandler {
  readonly #parts: RelayParts;
  readonly #forwarded: Forwarded;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  readonly #answer: ClientAnswer;
  readonly #sentAt = performance.now();
  #controller: Dispatcher.DispatchController | undefined;
  #filter: BodyFilter | undefined;
  /** What ends the stream where we do; undefined: nothing but its end. */
  #streamEnd: string | undefined;
  /** Where something of ours may be written. */
  #boundary: EventBoundary | undefined;
  #keepalive: Keepalive | undefined;
  #stopGuards: (() => void) | undefined;
  /** When the first interim answer came. */
  #interimAt: number | undefined;
  #settled = false;

  constructor(parts: RelayParts, forwarded: Forwarded, resolve: () => void, reject: (error: unknown) => void) {
    this.#parts = parts;
    this.#forwarded = forwarded;
    this.#answer = new ClientAnswer(forwarded.call.response);
    this.#resolve = resolve;
    this.#reject = reject;
    forwarded.call.response.on('close', () => this.#abort('the client went away'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#settled) controller.abort(new Error('the client went away'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, statusMessage = ''): void {
    // RFC 9110 §15.2: interim answers are between the upstream and us.
    if (status < 200) {
      this.#requireSoon();
      return;
    }
    const { route, cleanAnswer, observer, onUnauthorized } = this.#parts;
    const { call, grant } = this.#forwarded;
    observer.upstreamAnswered(route, performance.now() - this.#sentAt);
    if (status === 401) onUnauthorized?.(grant);
    // The upstream of an MCP route sees no token of the client's; a client that is told to get another would loop.
    if (status === 401 && route.protocol === 'mcp') throw new Denial('upstream.invalid', 'the upstream answered 401');
    // An error tells no names and gives out no handles.
    const filter = status < 300 && status !== 204 ? this.#forwarded.filter : undefined;
    const raw = (controller.rawHeaders ?? []) as Buffer[];
    const headers = cleanAnswer({ raw, status, call, grant, willChange: filter?.rewrites === true });
    this.#filter = filter?.choose(headers, status);
    this.#streamEnd = headers.isEventStream ? subscriptionEnd(grant.action) : undefined;
    if (this.#streamEnd !== undefined || route.keepaliveMs !== undefined) this.#boundary = createEventBoundary();
    this.#answer.begin(status, statusMessage, headers);
    // When all that came with them has been handed over: most answers are whole then, those that are called streams too.
    process.nextTick(showArrived, this, headers);
  }

  /** undici waits anew after each interim answer: an upstream that goes on sending them would never be too slow. */
  #requireSoon(): void {
    const { call, responseTimeoutMs } = this.#forwarded;
    this.#interimAt ??= performance.now();
    const isLate = performance.now() - this.#interimAt > responseTimeoutMs;
    // While the client still sends, nobody can answer.
    if (isLate && call.request.complete) throw new Denial('upstream.timeout', 'interim answers, and no other');
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#filter === undefined) this.#pass(controller, chunk);
    else for (const part of this.#filter.push(chunk)) this.#pass(controller, part);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#filter !== undefined) for (const part of this.#filter.end()) this.#pass(controller, part);
    this.#settle();
    this.#answer.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    const { request, response } = this.#forwarded.call;
    if (!response.headersSent) {
      this.#settle(upstreamDenial(error));
      return;
    }
    // A broken chunked or counted body is what tells the client that this is not the end; one that ends with its
    // connection (HTTP/1.0) only a reset. What a filter refused is logged all the same.
    this.#settle(unreadableAnswer(error));
    if (request.httpVersionMinor === 0 && !('encrypted' in request.socket)) request.socket.resetAndDestroy();
    else response.destroy();
  }

  #pass(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#boundary?.passed(chunk);
    this.#keepalive?.passed();
    this.#flow(controller, this.#answer.write(chunk));
  }

  #flow(controller: Dispatcher.DispatchController, flows: boolean): void {
    if (flows || controller.paused) return;
    controller.pause();
    this.#forwarded.call.response.once('drain', () => controller.resume());
  }

  /** Lets go what has come so far. */
  showArrived({ isEventStream, hasLength }: ResponseHeaders): void {
    if (this.#settled) return;
    if (isEventStream) this.#openStream();
    // A length is an end of its own, and was decided on as a whole. What has none could go on for ever, and must not look
    // whole where it is ended.
    else if (!hasLength) this.#stopGuards = this.#guard((response) => response.destroy());
    // A filter may still refuse what is no stream of events; then the client gets that refusal instead.
    if (this.#filter !== undefined && !isEventStream) return;
    const flows = this.#answer.show();
    if (this.#controller !== undefined) this.#flow(this.#controller, flows);
  }

  #openStream(): void {
    const { route, observer } = this.#parts;
    const { response } = this.#forwarded.call;
    observer.streamOpened(route);
    const boundary = this.#boundary;
    if (route.keepaliveMs !== undefined && boundary !== undefined) {
      this.#keepalive = createKeepalive(route.keepaliveMs, boundary, (chunk) => response.write(chunk));
    }
    // Ended cleanly, so that the client reconnects, and is challenged. In the middle of an event nothing can be added.
    const stop = this.#guard(() => response.end(boundary?.isBetween() === true ? this.#streamEnd : undefined));
    this.#stopGuards = () => {
      stop();
      observer.streamClosed(route);
    };
  }

  #guard(endWith: (response: ServerResponse) => void): () => void {
    const { route, streams, clock } = this.#parts;
    const { call, grant, held } = this.#forwarded;
    const end = (why: string): void => {
      endWith(call.response);
      this.#abort(why);
    };
    return guardStream({ route, call, grant, held, isUpgrade: false, end }, streams, clock);
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
    this.#stopGuards?.();
    if (denial === undefined) this.#resolve();
    else this.#reject(denial);
  }
}

function showArrived(relay: Relay, headers: ResponseHeaders): void {
  relay.showArrived(headers);
}
