import type { Dispatcher } from 'undici';
import errors from 'undici/lib/core/errors.js';
import type { Clock } from '../../lib/clock.ts';
import { Gatherer } from '../../lib/gatherer.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { Grant, GrantedCall } from '../../model/grant.ts';
import type { ForwardObserver } from '../../model/events.ts';
import type { CallOutcome } from '../../model/history.ts';
import type { Route } from '../../model/route.ts';
import type { AnswerFilter, AnswerMessages, BodyFilter } from './answer-messages.ts';
import { ClientAnswer } from './client-answer.ts';
import { OpenStream, type OpenStreams } from './open-streams.ts';
import type { CleanAnswer, ResponseHeaders } from './response-headers.ts';

/** The parts that all answers on a route share. */
export interface RelayParts {
  readonly route: Route;
  readonly cleanAnswer: CleanAnswer;
  /** Undefined on an HTTP route. */
  readonly messages: AnswerMessages | undefined;
  /** Called if the upstream answers 401 to a credential of the gateway; undefined if the gateway makes none. */
  readonly onUnauthorized: ((grant: Grant) => void) | undefined;
  /** Called when the header section of an answer is complete; undefined: no capability wants to know. */
  readonly onBegun: ((call: Call, isEventStream: boolean) => void) | undefined;
  readonly streams: OpenStreams;
  readonly observer: ForwardObserver;
  readonly clock: Clock;
}

/** A call that was forwarded. */
export interface Forwarded extends Pick<GrantedCall, 'call' | 'grant' | 'held' | 'counted'> {
  /** How long the upstream may take to answer, also if it sends interim answers. */
  readonly responseTimeoutMs: number;
}

/** Relays one answer from the upstream to the client, as a handler of undici. */
export class Relay implements Dispatcher.DispatchHandler {
  readonly #parts: RelayParts;
  readonly #forwarded: Forwarded;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  readonly #answer: ClientAnswer;
  readonly #sentAt = performance.now();
  #controller: Dispatcher.DispatchController | undefined;
  /** Undefined if the answer needs no change, and once its filter is chosen: it would hold much for a stream. */
  #changes: AnswerFilter | undefined;
  #filter: BodyFilter | undefined;
  /** What arrives while the filter prepares; undefined if it does not. */
  #waiting: Gatherer | undefined;
  /** Whether the end of the body arrived while the filter prepared. */
  #endWaits = false;
  /** The last event of a stream that the gateway ends; undefined for none. */
  #streamEnd: string | undefined;
  /** Where the gateway may write into the stream; undefined if it never does. */
  #boundary: EventBoundary | undefined;
  #keepalive: NodeJS.Timeout | undefined;
  /** Undefined before the answer is open-ended. */
  #open: OpenStream | undefined;
  #isEventStream = false;
  /** `performance.now()` of the first interim answer. */
  #interimAt: number | undefined;
  /** Whether the request may have reached the upstream. */
  #isSent = false;
  #settled = false;
  /** Whether the header section of the final answer was read. */
  #hasBegun = false;

  /** @param changes What the answer may need; undefined for nothing. */
  constructor(
    parts: RelayParts,
    forwarded: Forwarded,
    changes: AnswerFilter | undefined,
    { resolve, reject }: Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>,
  ) {
    this.#parts = parts;
    this.#forwarded = forwarded;
    this.#changes = changes;
    this.#answer = new ClientAnswer(forwarded.call.response);
    this.#resolve = resolve;
    this.#reject = reject;
    forwarded.call.response.on('close', () => this.#abort('the client went away'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isSent = !this.#settled;
    if (this.#settled) controller.abort(new Error('the client went away'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, statusMessage = ''): void {
    // RFC 9110 §15.2: an interim answer is not forwarded.
    if (status < 200) {
      this.#requireSoon();
      return;
    }
    this.#hasBegun = true;
    const { route, cleanAnswer, messages, observer, onUnauthorized, onBegun } = this.#parts;
    const { call, grant } = this.#forwarded;
    observer.upstreamAnswered(route, performance.now() - this.#sentAt);
    // What an MCP server says is in the body of its answer.
    const outcome = outcomeOfStatus(status) ?? (route.protocol === 'http' && status < 400 ? 'answered' : undefined);
    if (outcome !== undefined) this.#forwarded.counted?.settle(outcome, `the upstream answered ${status}`);
    if (status === 401) onUnauthorized?.(grant);
    // The upstream of an MCP route gets no token of the client. A client that fetched another token would loop.
    if (status === 401 && route.protocol === 'mcp') throw new Denial('upstream.invalid', 'the upstream answered 401');
    const changes = status < 300 ? this.#changes : this.#changes?.ofErrors;
    this.#changes = undefined;
    const filter = status === 204 ? undefined : changes;
    const raw = (controller.rawHeaders ?? []) as Buffer[];
    const headers = cleanAnswer({ raw, status, call, grant, willChange: filter?.rewrites === true });
    onBegun?.(call, headers.isEventStream);
    this.#filter = filter?.choose(headers, status);
    this.#streamEnd = headers.isEventStream ? messages?.endOfStream(grant.action) : undefined;
    const mayWrite = this.#streamEnd !== undefined || route.keepaliveMs !== undefined || this.#filter !== undefined;
    if (headers.isEventStream && mayWrite) this.#boundary = new EventBoundary();
    this.#answer.begin(status, statusMessage, headers);
    // After the bytes that arrived with the header section: most answers are complete by then, event streams too.
    process.nextTick(showArrived, this, headers);
  }

  /** undici restarts its timeout at each interim answer: an upstream that keeps sending them would never time out. */
  #requireSoon(): void {
    const { call, responseTimeoutMs } = this.#forwarded;
    this.#interimAt ??= performance.now();
    const isLate = performance.now() - this.#interimAt > responseTimeoutMs;
    // While the client is still sending, the upstream cannot answer.
    if (isLate && call.request.complete) throw new Denial('upstream.timeout', 'interim answers, and no other');
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#receive(controller, chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#receive(controller, undefined);
  }

  /** @param part The next chunk; undefined: the end. */
  #receive(controller: Dispatcher.DispatchController, part: Buffer | undefined): void {
    // undici delivers all that arrived once the server closes the connection, paused or not.
    if (this.#waiting !== undefined) {
      if (part === undefined) this.#endWaits = true;
      else this.#waiting.push(part);
      return;
    }
    const prepared = this.#filter?.prepare?.(part);
    if (prepared === undefined) {
      this.#take(controller, part);
      return;
    }
    this.#waiting = new Gatherer();
    if (part !== undefined) controller.pause();
    void this.#takeAfter(prepared, controller, part);
  }

  async #takeAfter(
    prepared: Promise<void>,
    controller: Dispatcher.DispatchController,
    part: Buffer | undefined,
  ): Promise<void> {
    try {
      await prepared;
      if (this.#settled) return;
      const waiting = this.#waiting?.take();
      const endWaits = this.#endWaits;
      this.#waiting = undefined;
      this.#endWaits = false;
      this.#take(controller, part);
      if (waiting !== undefined && waiting.length > 0) this.#receive(controller, waiting);
      if (endWaits) this.#receive(controller, undefined);
      if (this.#waiting === undefined && this.#forwarded.counted?.settling === undefined) controller.resume();
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error));
      this.onResponseError(controller, cause);
      controller.abort(cause);
    }
  }

  #take(controller: Dispatcher.DispatchController, chunk: Buffer | undefined): void {
    if (chunk === undefined) {
      this.#takeEnd(controller);
      return;
    }
    const parts = this.#filter === undefined ? [chunk] : this.#filter.push(chunk);
    const settling = this.#forwarded.counted?.settling;
    if (settling === undefined) {
      for (const part of parts) this.#pass(controller, part);
      return;
    }
    controller.pause();
    void this.#passAfter(settling, controller, parts);
  }

  async #passAfter(
    settling: Promise<void>,
    controller: Dispatcher.DispatchController,
    parts: readonly Buffer[],
  ): Promise<void> {
    await settling;
    for (const part of parts) this.#pass(controller, part);
    controller.resume();
  }

  #takeEnd(controller: Dispatcher.DispatchController): void {
    const parts = this.#filter === undefined ? [] : this.#filter.end();
    const settling = this.#forwarded.counted?.settling;
    if (settling === undefined) this.#end(controller, parts);
    else void settling.then(() => this.#end(controller, parts));
  }

  #end(controller: Dispatcher.DispatchController, last: readonly Buffer[]): void {
    for (const part of last) this.#pass(controller, part);
    this.#settle();
    this.#answer.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    const { request, response } = this.#forwarded.call;
    if (!response.headersSent) {
      this.#settle(upstreamDenial(error, this.#hasBegun));
      return;
    }
    const denial = unreadableAnswer(error);
    const last = denial && this.#refusalEvent(denial);
    // The refusal of a filter is logged in any case.
    this.#settle(denial);
    if (last !== undefined) {
      response.end(last);
      return;
    }
    // The client must notice that the answer is incomplete. Chunks or a length show it. A body that ends with its
    // connection (HTTP/1.0) needs a reset.
    if (request.httpVersionMinor === 0 && !('encrypted' in request.socket)) request.socket.resetAndDestroy();
    else response.destroy();
  }

  /** The event that tells a client that its request gets no other answer; undefined where none can be written. */
  #refusalEvent(denial: Denial): string | undefined {
    if (!this.#isEventStream || this.#boundary?.isBetween() !== true) return undefined;
    const { call, grant } = this.#forwarded;
    return this.#parts.messages?.refusalEvent(grant.action, call.decision, denial);
  }

  #pass(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#boundary?.passed(chunk);
    this.#keepalive?.refresh();
    this.#flow(controller, this.#answer.write(chunk));
  }

  #flow(controller: Dispatcher.DispatchController, flows: boolean): void {
    if (flows || controller.paused) return;
    controller.pause();
    this.#forwarded.call.response.once('drain', () => controller.resume());
  }

  /** Sends what has arrived so far. */
  showArrived({ isEventStream, hasLength }: ResponseHeaders): void {
    if (this.#settled) return;
    if (isEventStream) this.#openStream();
    // An answer with a length has an end. One without could go on without end, and must not look complete if the
    // gateway ends it.
    else if (!hasLength) this.#guard();
    // A filter may still refuse an answer that is no event stream. The client then gets that refusal instead.
    if (this.#filter !== undefined && !isEventStream) return;
    // The header section of an answer without a body is all of it.
    if (this.#forwarded.counted?.settling !== undefined) return;
    const flows = this.#answer.show();
    if (this.#controller !== undefined) this.#flow(this.#controller, flows);
  }

  #openStream(): void {
    const { route, observer } = this.#parts;
    const { response } = this.#forwarded.call;
    observer.streamOpened(route);
    this.#isEventStream = true;
    const boundary = this.#boundary;
    if (route.keepaliveMs !== undefined && boundary !== undefined) {
      this.#keepalive = createKeepalive(route.keepaliveMs, boundary, (chunk) => response.write(chunk));
    }
    this.#guard();
  }

  #guard(): void {
    const { route, streams, clock } = this.#parts;
    const { call, grant, held } = this.#forwarded;
    const end = (why: string): void => this.#endStream(why);
    this.#open = new OpenStream({ route, call, grant, held, isUpgrade: false, end }, streams, clock);
    // Its token may have been refused meanwhile.
    if (this.#settled) this.#open.stop();
  }

  /** An event stream ends cleanly, so that the client reconnects and gets a challenge. */
  #endStream(why: string): void {
    const { response } = this.#forwarded.call;
    if (!this.#isEventStream) response.destroy();
    // Within an event nothing can be added.
    else response.end(this.#boundary?.isBetween() === true ? this.#streamEnd : undefined);
    this.#abort(why);
  }

  #abort(why: string): void {
    if (this.#settled) return;
    this.#settle();
    this.#controller?.abort(new Error(why));
  }

  #settle(denial?: Denial): void {
    if (this.#settled) return;
    this.#settled = true;
    // It stays counted, unless its answer has settled it already.
    if (this.#isSent) this.#forwarded.counted?.settle('unanswered');
    clearInterval(this.#keepalive);
    this.#open?.stop();
    if (this.#isEventStream) this.#parts.observer.streamClosed(this.#parts.route);
    if (denial === undefined) this.#resolve();
    else this.#reject(denial);
  }
}

function showArrived(relay: Relay, headers: ResponseHeaders): void {
  relay.showArrived(headers);
}

/** Follows an event stream, to know where the gateway may write into it. */
class EventBoundary {
  #tail = '\n\n';

  /** Notes a chunk that was passed on. */
  passed(chunk: Buffer): void {
    this.#tail = (this.#tail + chunk.subarray(-3).toString('latin1')).slice(-3);
  }

  /** Whether the stream is between two events, WHATWG HTML §9.2. */
  isBetween(): boolean {
    return /(?:\n\n|\r\r|\n\r\n)$/.test(this.#tail);
  }
}

/** WHATWG HTML §9.2.6: clients ignore a line that begins with a colon. */
const comment = Buffer.from(': keepalive\n\n');

/** Creates the timer that writes a comment after each `quietMs` without a byte. Each chunk refreshes it. */
function createKeepalive(quietMs: number, boundary: EventBoundary, write: (chunk: Buffer) => void): NodeJS.Timeout {
  return setInterval(() => {
    if (boundary.isBetween()) write(comment);
  }, quietMs).unref();
}

/** @param hasBegun Whether the header section of the answer could be read. */
function upstreamDenial(error: Error, hasBegun: boolean): Denial {
  const unreadable = unreadableAnswer(error);
  if (unreadable !== undefined) return unreadable;
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.ConnectTimeoutError) {
    return new Denial('upstream.timeout', error.message, { cause: error });
  }
  // undici compares the length of a body that it has not read with a length that is none.
  const isLengthInvalid = !hasBegun && error instanceof errors.ResponseContentLengthMismatchError;
  if (isLengthInvalid || error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) {
    return new Denial('upstream.invalid', error.message, { cause: error });
  }
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return new Denial('upstream.unreachable', `${code}${error.message}`, { cause: error });
}

function unreadableAnswer(error: Error): Denial | undefined {
  if (error instanceof Denial) return error;
  // Its message quotes the answer of the upstream.
  if (error instanceof SyntaxError) return new Denial('upstream.invalid', 'a list that is not JSON cannot be filtered');
  return error instanceof RangeError ? new Denial('upstream.invalid', error.message) : undefined;
}

/**
 * The statuses by which a proxy before the upstream says that it got no answer of it (RFC 9110 §15.6.3, §15.6.5; 520
 * and 524: Cloudflare), or that the client left (nginx): the upstream may have acted.
 */
const ofProxies: ReadonlySet<number> = new Set([499, 502, 504, 520, 524]);

/**
 * The statuses that `Accept`, conditions and `Range` of the caller cause (RFC 9110 §15.5.7, §15.5.13, §15.5.17). Some
 * upstreams look at these fields only after they acted.
 */
const ofCallers: ReadonlySet<number> = new Set([406, 412, 416]);

/** The settlement of a call by the status alone; undefined: the status does not settle it. */
export function outcomeOfStatus(status: number): CallOutcome | undefined {
  if (status < 400 || ofProxies.has(status)) return undefined;
  return ofCallers.has(status) ? 'unclear' : 'returned';
}
