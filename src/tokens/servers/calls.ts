import { maxAgeMs, retryAfterMs } from '../../core/lib/http/header-fields.ts';
import { withoutQuery, messageOf } from '../../core/lib/wording.ts';
import type { Random } from '../../core/lib/back-off.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { ServerAnswer, ServerState } from '../../ports/authorization-server-client.ts';
import type { ServerOperation, CountServerCall } from '../../core/model/events.ts';
import { Denial } from '../../core/model/denial.ts';
import { createRoundRobinQueue, createQuota } from '../../core/lib/fair-share.ts';
import { type CircuitBreaker, createCircuitBreaker, LONGEST_REQUESTED_MS } from './circuit-breaker.ts';
import { createJsonFetcher, type FetchJsonOptions, type JsonAnswer } from './fetch-json.ts';
import { ensure } from '../../core/lib/remembered.ts';

/** Calls of one operation in flight at once: a slow server must not exhaust sockets and memory. */
const MAX_IN_FLIGHT = 256;
/**
 * After this time without a call, an endpoint is forgotten. Metadata may name another one by then: its circuit would
 * stay open, and a server that names new ones again and again would fill the memory.
 */
const FORGET_MS = 10 * 60_000;

/** Observes the calls to one server. */
export interface ServerCallsObserver {
  readonly count: CountServerCall;
  /** A call got no answer, or a status that says that the server is unavailable. */
  readonly failed: (operation: ServerOperation) => void;
  /** A circuit opened or closed. */
  readonly circuitChanged: () => void;
  /** The server refuses the gateway's own client id, or its secret or key. */
  readonly credentialsRefused: (operation: ServerOperation, url: string) => void;
}

/** Makes the request. Called only for a call that is sent, since client authentication may cost a signature. */
type RequestMaker = () => CallOptions | Promise<CallOptions>;

/** The options of a call without its timeout. */
export type CallOptions = Omit<FetchJsonOptions, 'timeoutMs'>;

/** Calls to one authorization server: bounded in time, size and number, and stopped by a circuit breaker. */
export interface ServerCalls {
  /**
   * @param onBehalfOf The key of the caller that needs the call, which has a share of the calls in flight. Default: the
   *   gateway itself.
   * @throws {Denial} `authorization_server.unavailable` if there is no answer; a status of 4xx is an answer.
   */
  ask(operation: ServerOperation, url: string, request?: RequestMaker, onBehalfOf?: string): Promise<ServerAnswer>;
  /** Whether the server has answered any call. */
  readonly answered: boolean;
  /** The circuits that are not closed; undefined if all are closed. */
  circuits(): ServerState['circuits'];
  /** The last failure of the first of these circuits, besides those of discovery, which has its own. */
  problem(): string | undefined;
  /** Reports that the server answers again: open circuits close on trial. */
  readonly recovered: () => void;
  close(): void;
}

/**
 * The state of one operation at one endpoint. A server whose introspection fails may still publish its keys, and each
 * exchange may have an endpoint of its own.
 */
interface Endpoint {
  readonly operation: ServerOperation;
  readonly breaker: CircuitBreaker;
  readonly semaphore: FairSemaphore;
  problem: string;
  /** When it was last asked, in milliseconds since the epoch. */
  askedAt: number;
}

/** Creates the calls to `server`. */
export function createServerCalls(
  server: AuthorizationServer,
  observer: ServerCallsObserver,
  clock: Clock,
  random: Random,
): ServerCalls {
  const fetcher = createJsonFetcher();
  const endpoints = new Map<string, Endpoint>();
  let answered = false;

  function endpointOf(operation: ServerOperation, url: string): Endpoint {
    const endpoint = ensure(endpoints, `${operation} ${url}`, () => ({
      operation,
      breaker: createCircuitBreaker(clock, random),
      semaphore: createFairSemaphore(MAX_IN_FLIGHT),
      problem: '',
      askedAt: 0,
    }));
    endpoint.askedAt = clock();
    return endpoint;
  }

  function known(): readonly Endpoint[] {
    for (const [key, { askedAt }] of endpoints) if (clock() - askedAt > FORGET_MS) endpoints.delete(key);
    return [...endpoints.values()];
  }

  function unavailable(why: string, retryAfterSeconds?: number, cause?: unknown): Denial {
    const extras = { ...(retryAfterSeconds !== undefined && { retryAfterSeconds }), cause };
    return new Denial('authorization_server.unavailable', `${server.name}: ${why}`, extras);
  }

  function circuitOpen({ operation, problem }: Endpoint, waitMs: number): Denial {
    observer.count(server.name, operation, 'circuit_open');
    return unavailable(`the circuit for ${operation} is open: ${problem}`, waitMs / 1000);
  }

  async function ask(
    operation: ServerOperation,
    url: string,
    request: RequestMaker = () => ({}),
    onBehalfOf = '',
  ): Promise<ServerAnswer> {
    const endpoint = endpointOf(operation, url);
    // A call must not wait in the queue only to meet an open circuit.
    if (endpoint.breaker.state() === 'open') throw circuitOpen(endpoint, endpoint.breaker.waitMs());
    const admission = endpoint.semaphore.acquire(onBehalfOf);
    if (admission === 'full') {
      observer.count(server.name, operation, 'overloaded');
      throw unavailable(`its queue for ${operation} is full`, 1);
    }
    if (admission !== undefined) await admission;
    try {
      return await send(endpoint, url, request);
    } finally {
      endpoint.semaphore.release(onBehalfOf);
    }
  }

  async function send(endpoint: Endpoint, url: string, request: RequestMaker): Promise<ServerAnswer> {
    const { operation } = endpoint;
    const wasOpen = endpoint.breaker.state() !== 'closed';
    const call = endpoint.breaker.admit();
    if (typeof call === 'number') throw circuitOpen(endpoint, call);
    try {
      const answer = await fetcher.fetchJson(url, { ...(await request()), timeoutMs: server.timeoutMs });
      const requestedMs = requestedPauseMs(answer, clock());
      if (isUnavailable(answer, operation))
        throw new ServerUnavailable(`${withoutQuery(url)} answered ${answer.status}`, answer.status, requestedMs);
      call.succeeded();
      answered = true;
      observer.count(server.name, operation, answer.status < 400 ? 'ok' : 'refused');
      if (refusesClient(answer, operation)) observer.credentialsRefused(operation, withoutQuery(url));
      const { status, mediaType, text, body } = answer;
      return { status, mediaType, text, body, maxAgeMs: maxAgeMs(answer.cacheControl) };
    } catch (error) {
      const requestedMs = error instanceof ServerUnavailable ? error.requestedMs : undefined;
      if (error instanceof ServerUnavailable && !error.affectsAllCallers) call.succeeded();
      else call.failed(requestedMs);
      observer.count(server.name, operation, 'error');
      observer.failed(operation);
      endpoint.problem = messageOf(error);
      throw unavailable(endpoint.problem, secondsToTrial(endpoint.breaker, requestedMs), error);
    } finally {
      if ((endpoint.breaker.state() !== 'closed') !== wasOpen) observer.circuitChanged();
    }
  }

  return {
    ask,
    get answered() {
      return answered;
    },
    circuits() {
      const open = known().flatMap(({ operation, breaker }) => {
        const state = breaker.state();
        return state === 'closed' ? [] : [[operation, state] as const];
      });
      return open.length === 0 ? undefined : Object.fromEntries(open);
    },
    problem: () =>
      known().find(({ operation, breaker }) => operation !== 'discovery' && breaker.state() !== 'closed')?.problem,
    recovered() {
      for (const { breaker } of endpoints.values()) breaker.recovered();
    },
    close: fetcher.close,
  };
}

function requestedPauseMs({ retryAfter }: JsonAnswer, now: number): number | undefined {
  const requestedMs = retryAfterMs(retryAfter, now);
  return requestedMs === undefined ? undefined : Math.min(requestedMs, LONGEST_REQUESTED_MS);
}

function secondsToTrial(breaker: CircuitBreaker, requestedMs: number | undefined): number | undefined {
  if (breaker.state() !== 'closed') return breaker.waitMs() / 1000;
  return requestedMs === undefined ? undefined : requestedMs / 1000;
}

class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
  readonly requestedMs: number | undefined;
  /** Whether other callers would get the same answer. 429 and 500 may concern one token, and open no circuit. */
  readonly affectsAllCallers: boolean;

  constructor(message: string, status: number, requestedMs: number | undefined) {
    super(message);
    this.requestedMs = requestedMs;
    this.affectsAllCallers = status !== 429 && status !== 500;
  }
}

/** A redirect means that this is not the endpoint. For discovery it only means that the metadata are elsewhere. */
function isUnavailable({ status }: JsonAnswer, operation: ServerOperation): boolean {
  if (status >= 300 && status < 400) return operation !== 'discovery';
  return status >= 500 || status === 429;
}

/** RFC 6749 §5.2 and RFC 7662 §2.3. */
function refusesClient({ status, body }: JsonAnswer, operation: ServerOperation): boolean {
  if (operation === 'discovery' || operation === 'jwks') return false;
  if (status === 401) return true;
  return status === 400 && typeof body === 'object' && body !== null && Reflect.get(body, 'error') === 'invalid_client';
}

/** A semaphore that no single owner can exhaust. */
export interface FairSemaphore {
  /** Acquires for `owner`: at once (undefined), or when the promise resolves. `full`: the owner's queue is full. */
  acquire(owner: string): Promise<void> | 'full' | undefined;
  /** Releases for `owner`. Call it once for each acquisition. */
  release(owner: string): void;
}

/**
 * Creates a free semaphore. Each owner has a {@link createQuota quota} of `capacity`; waiting owners are served in
 * turn.
 */
export function createFairSemaphore(capacity: number): FairSemaphore {
  const quota = createQuota(capacity);
  const queue = createRoundRobinQueue();
  const acquires = (owner: string): boolean => quota.take(owner, 1);
  return {
    acquire(owner) {
      const waiting = queue.waiting(owner);
      if (waiting === 0 && acquires(owner)) return undefined;
      if (waiting >= capacity) return 'full';
      return new Promise((resolve) => queue.add(owner, resolve));
    },
    release(owner) {
      quota.give(owner, 1);
      while (queue.next(acquires));
    },
  };
}
