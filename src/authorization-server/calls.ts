import { maxAgeMs, retryAfterMs } from '../http/header-fields.ts';
import { withoutQuery } from '../http/without-query.ts';
import type { Random } from '../lib/back-off.ts';
import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer, ServerAnswer, ServerOperation, ServerState } from '../model/authorization-server.ts';
import { Denial } from '../model/denial.ts';
import { type CircuitBreaker, createCircuitBreaker, LONGEST_ASKED_MS } from './circuit-breaker.ts';
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
   * @param asker For whom; default: for the gateway itself. Nobody's calls keep out those of others.
   * @throws {Denial} `authorization_server.unavailable` where there is no answer; a status of 4xx is one.
   */
  ask(operation: ServerOperation, url: string, request?: Request, asker?: string): Promise<ServerAnswer>;
  /** Whether any call was answered yet. */
  readonly answered: boolean;
  /** The circuits that are not closed; undefined: all are. */
  circuits(): ServerState['circuits'];
  /** Why the first of them failed last. */
  problem(): string | undefined;
  /** The server has come back: open circuits close on trial. */
  readonly trust: () => void;
  close(): void;
}

/**
 * What is kept for each operation and endpoint: a server whose introspection is broken may well publish its keys, and each
 * exchange may have an endpoint of its own.
 */
interface Lane {
  readonly operation: ServerOperation;
  readonly breaker: CircuitBreaker;
  readonly places: FairSemaphore;
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
  const lanes = new Map<string, Lane>();
  let answered = false;

  function laneOf(operation: ServerOperation, url: string): Lane {
    const key = `${operation} ${url}`;
    const known = lanes.get(key);
    if (known !== undefined) return known;
    const lane = {
      operation,
      breaker: createCircuitBreaker(clock, random),
      places: createFairSemaphore(MAX_IN_FLIGHT),
      problem: '',
    };
    lanes.set(key, lane);
    return lane;
  }

  function unavailable(why: string, retryAfterSeconds?: number, cause?: unknown): Denial {
    const extras = { ...(retryAfterSeconds !== undefined && { retryAfterSeconds }), cause };
    return new Denial('authorization_server.unavailable', `${server.name}: ${why}`, extras);
  }

  function notAsked({ operation, problem }: Lane, waitMs: number): Denial {
    observer.count(server.name, operation, 'circuit_open');
    return unavailable(`${operation} is not asked again yet, since ${problem}`, waitMs / 1000);
  }

  async function ask(
    operation: ServerOperation,
    url: string,
    request: Request = () => ({}),
    asker = '',
  ): Promise<ServerAnswer> {
    const lane = laneOf(operation, url);
    // Nobody waits for a place only to hear it then.
    if (lane.breaker.state() === 'open') throw notAsked(lane, lane.breaker.waitMs());
    const turn = lane.places.enter(asker);
    if (turn === 'full') {
      observer.count(server.name, operation, 'overloaded');
      throw unavailable(`too many calls for ${operation} wait for it already`, 1);
    }
    if (turn !== undefined) await turn;
    try {
      return await send(lane, url, request);
    } finally {
      lane.places.leave(asker);
    }
  }

  async function send(lane: Lane, url: string, request: Request): Promise<ServerAnswer> {
    const { operation } = lane;
    const wasOpen = lane.breaker.state() !== 'closed';
    const call = lane.breaker.admit();
    if (typeof call === 'number') throw notAsked(lane, call);
    try {
      const answer = await fetcher.fetchJson(url, { ...(await request()), timeoutMs: server.timeoutMs });
      const askedMs = askedFor(answer, clock());
      if (isAway(answer, operation))
        throw new ServerUnavailable(`${withoutQuery(url)} answered ${answer.status}`, answer.status, askedMs);
      call.succeeded();
      answered = true;
      observer.count(server.name, operation, answer.status < 400 ? 'ok' : 'refused');
      if (refusesUs(answer, operation)) observer.credentialsRefused(operation, withoutQuery(url));
      const { status, mediaType, text, body } = answer;
      return { status, mediaType, text, body, maxAgeMs: maxAgeMs(answer.cacheControl) };
    } catch (error) {
      const askedMs = error instanceof ServerUnavailable ? error.askedMs : undefined;
      if (error instanceof ServerUnavailable && !error.forEverybody) call.succeeded();
      else call.failed(askedMs);
      observer.count(server.name, operation, 'error');
      observer.failed(operation);
      lane.problem = error instanceof Error ? error.message : String(error);
      throw unavailable(lane.problem, secondsToTrial(lane.breaker, askedMs), error);
    } finally {
      if ((lane.breaker.state() !== 'closed') !== wasOpen) observer.circuitChanged();
    }
  }

  return {
    ask,
    get answered() {
      return answered;
    },
    circuits() {
      const open = [...lanes.values()].flatMap(({ operation, breaker }) => {
        const state = breaker.state();
        return state === 'closed' ? [] : [[operation, state] as const];
      });
      return open.length === 0 ? undefined : Object.fromEntries(open);
    },
    problem: () => [...lanes.values()].find(({ breaker }) => breaker.state() !== 'closed')?.problem,
    trust() {
      for (const { breaker } of lanes.values()) breaker.trust();
    },
    close: fetcher.close,
  };
}

function askedFor({ retryAfter }: JsonAnswer, now: number): number | undefined {
  const askedMs = retryAfterMs(retryAfter, now);
  return askedMs === undefined ? undefined : Math.min(askedMs, LONGEST_ASKED_MS);
}

/** Undefined where nobody can tell. */
function secondsToTrial(breaker: CircuitBreaker, askedMs: number | undefined): number | undefined {
  if (breaker.state() !== 'closed') return breaker.waitMs() / 1000;
  return askedMs === undefined ? undefined : askedMs / 1000;
}

/** A status by which a server says that it cannot answer now. */
class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
  readonly askedMs: number | undefined;
  /** Whether others would hear the same. 429 and 500 may be about one person or one token, and open no circuit for all. */
  readonly forEverybody: boolean;

  constructor(message: string, status: number, askedMs: number | undefined) {
    super(message);
    this.askedMs = askedMs;
    this.forEverybody = status !== 429 && status !== 500;
  }
}

/** Whoever redirects is not the endpoint; at a place where metadata may be, that says only that it is not there. */
function isAway({ status }: JsonAnswer, operation: ServerOperation): boolean {
  if (status >= 300 && status < 400) return operation !== 'discovery';
  return status >= 500 || status === 429;
}

/** RFC 6749 §5.2 and RFC 7662 §2.3. */
function refusesUs({ status, body }: JsonAnswer, operation: ServerOperation): boolean {
  if (operation === 'discovery' || operation === 'jwks') return false;
  if (status === 401) return true;
  return status === 400 && typeof body === 'object' && body !== null && Reflect.get(body, 'error') === 'invalid_client';
}
