import { maxAgeMs, retryAfterMs } from '../http/header-fields.ts';
import { withoutQuery } from '../http/without-query.ts';
import type { Random } from '../lib/back-off.ts';
import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer, ServerAnswer, ServerOperation, ServerState } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import { type CircuitBreaker, createCircuitBreaker, LONGEST_REQUESTED_MS } from './circuit-breaker.ts';
import { createFairSemaphore, type FairSemaphore } from './fair-semaphore.ts';
import { createJsonFetcher, type FetchJsonOptions, type JsonAnswer } from './fetch-json.ts';

/** So many calls of one operation may be under way at once: a slow server must not eat up sockets and memory. */
const MAX_IN_FLIGHT = 256;

/**
 * What became of a call: `ok`; `refused`, a status of 4xx; `error`, no answer or one that says that the server is away.
 * Not made at all: `circuit_open`, and `overloaded` where too many wait already.
 */
type ServerCallResult = 'ok' | 'refused' | 'error' | 'circuit_open' | 'overloaded';

/** Counts one call to an authorization server. */
export type CountServerCall = (server: string, operation: ServerOperation, result: ServerCallResult) => void;

/** What is told of the calls while they happen. */
export interface ServerCallsObserver {
  readonly count: CountServerCall;
  /** A call brought no answer, or one that says that the server is away. */
  readonly failed: (operation: ServerOperation) => void;
  /** A circuit opened or closed. */
  readonly circuitChanged: () => void;
  /** The server does not know us, or not our secret. */
  readonly credentialsRefused: (operation: ServerOperation, url: string) => void;
}

/** What is sent. Made only for a call that goes: proving who we are costs a signature. */
type Request = () => CallOptions | Promise<CallOptions>;

/** All of a call but how long it may take. */
export type CallOptions = Omit<FetchJsonOptions, 'timeoutMs'>;

/** Calls to one authorization server: bounded in time, size and number, and none where it failed again and again. */
export interface ServerCalls {
  /**
   * @param onBehalfOf For whom; default: for the gateway itself. Nobody's calls keep out those of others.
   * @throws {Denial} `authorization_server.unavailable` where there is no answer; a status of 4xx is one.
   */
  ask(operation: ServerOperation, url: string, request?: Request, onBehalfOf?: string): Promise<ServerAnswer>;
  /** Whether any call was answered yet. */
  readonly answered: boolean;
  /** The circuits that are not closed; undefined: all are. */
  circuits(): ServerState['circuits'];
  /** Why the first of them failed last. */
  problem(): string | undefined;
  /** The server has come back: open circuits close on trial. */
  readonly recovered: () => void;
  close(): void;
}

/**
 * What is kept for each operation and endpoint: a server whose introspection is broken may well publish its keys, and each
 * exchange may have an endpoint of its own.
 */
interface Endpoint {
  readonly operation: ServerOperation;
  readonly breaker: CircuitBreaker;
  readonly semaphore: FairSemaphore;
  problem: string;
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
    const key = `${operation} ${url}`;
    const known = endpoints.get(key);
    if (known !== undefined) return known;
    const endpoint = {
      operation,
      breaker: createCircuitBreaker(clock, random),
      semaphore: createFairSemaphore(MAX_IN_FLIGHT),
      problem: '',
    };
    endpoints.set(key, endpoint);
    return endpoint;
  }

  function unavailable(why: string, retryAfterSeconds?: number, cause?: unknown): Denial {
    const extras = { ...(retryAfterSeconds !== undefined && { retryAfterSeconds }), cause };
    return new Denial('authorization_server.unavailable', `${server.name}: ${why}`, extras);
  }

  function circuitOpen({ operation, problem }: Endpoint, waitMs: number): Denial {
    observer.count(server.name, operation, 'circuit_open');
    return unavailable(`${operation} is not asked again yet, since ${problem}`, waitMs / 1000);
  }

  async function ask(
    operation: ServerOperation,
    url: string,
    request: Request = () => ({}),
    onBehalfOf = '',
  ): Promise<ServerAnswer> {
    const endpoint = endpointOf(operation, url);
    // Nobody waits for a place only to hear it then.
    if (endpoint.breaker.state() === 'open') throw circuitOpen(endpoint, endpoint.breaker.waitMs());
    const admission = endpoint.semaphore.acquire(onBehalfOf);
    if (admission === 'full') {
      observer.count(server.name, operation, 'overloaded');
      throw unavailable(`too many calls for ${operation} wait for it already`, 1);
    }
    if (admission !== undefined) await admission;
    try {
      return await send(endpoint, url, request);
    } finally {
      endpoint.semaphore.release(onBehalfOf);
    }
  }

  async function send(endpoint: Endpoint, url: string, request: Request): Promise<ServerAnswer> {
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
      endpoint.problem = error instanceof Error ? error.message : String(error);
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
      const open = [...endpoints.values()].flatMap(({ operation, breaker }) => {
        const state = breaker.state();
        return state === 'closed' ? [] : [[operation, state] as const];
      });
      return open.length === 0 ? undefined : Object.fromEntries(open);
    },
    problem: () => [...endpoints.values()].find(({ breaker }) => breaker.state() !== 'closed')?.problem,
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

/** Undefined where nobody can tell. */
function secondsToTrial(breaker: CircuitBreaker, requestedMs: number | undefined): number | undefined {
  if (breaker.state() !== 'closed') return breaker.waitMs() / 1000;
  return requestedMs === undefined ? undefined : requestedMs / 1000;
}

/** A status by which a server says that it cannot answer now. */
class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
  readonly requestedMs: number | undefined;
  /** Whether others would hear the same. 429 and 500 may be about one person or one token, and open no circuit for all. */
  readonly affectsAllCallers: boolean;

  constructor(message: string, status: number, requestedMs: number | undefined) {
    super(message);
    this.requestedMs = requestedMs;
    this.affectsAllCallers = status !== 429 && status !== 500;
  }
}

/** Whoever redirects is not the endpoint; at a place where metadata may be, that says only that it is not there. */
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
