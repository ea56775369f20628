/**
 * The requests of the console. The admin listener has checked the caller before. None of them changes any state.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ratePoints, SLOT_MS } from '../../telemetry/rates.ts';
import { BodyFault, draftIn } from './draft-request.ts';
import { DraftRefusal } from './draft-process.ts';
import { detailOf } from './detail.ts';
import { createFeed, MAX_WATCHERS } from './feed.ts';
import type { OperatorRevocations } from '../../model/revocation.ts';
import { filterIn } from './filter.ts';
import { type AnswerAt, DECISIONS, DRAFT, endpoints } from './messages.ts';
import { createPolicies } from './policies.ts';
import type { ConsoleSource } from './process-source.ts';
import { type InForce, statusOf } from './status.ts';

/** Answers a request of an operator. */
export type ConsoleRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  /** Whether the caller is still an operator, for an answer that takes long. */
  isAllowed: () => boolean,
) => void | Promise<void>;

/** What the console shows. */
export interface ConsoleParts {
  readonly inForce: InForce;
  readonly source: ConsoleSource;
  /** How many processes serve. */
  readonly workers: () => number;
  /** Undefined without `revocation`. */
  readonly revocations?: Pick<OperatorRevocations, 'state'> | undefined;
}

/** The requests of the console, by path. */
export interface ConsoleRequests {
  readonly gets: ReadonlyMap<string, ConsoleRequest>;
  /** Those with a body, which only a page of the listener may send. */
  readonly posts: ReadonlyMap<string, ConsoleRequest>;
  readonly close: () => void;
}

/** The answers, by the names of their endpoints; undefined if there is none. */
type Answers = {
  readonly [Name in keyof typeof endpoints]: (query: URLSearchParams) => Promise<AnswerAt<Name> | undefined>;
};

/** Creates the answers to them. */
export function consoleRequests({ inForce, source, workers, revocations }: ConsoleParts): ConsoleRequests {
  const feed = createFeed(source.watch);
  const policies = createPolicies(inForce, source);
  const answers: Answers = {
    status: async () => statusOf(inForce, await source.ask('state', undefined), workers(), revocations?.state()),
    policies: () => policies.list(),
    past: (query) => source.ask('past', filterIn(query)),
    async decision(query) {
      const decision = await source.ask('find', query.get('id') ?? '');
      return decision && detailOf(inForce, decision);
    },
    rates: async () => ({ slotMs: SLOT_MS, points: ratePoints(await source.ask('rates', undefined)) }),
  };
  const gets = new Map<string, ConsoleRequest>([[DECISIONS, watch]]);
  for (const [name, { path }] of Object.entries(endpoints)) {
    const answerTo = answers[name as keyof Answers];
    gets.set(path, async (request, response) => {
      const answer = await answerTo(queryOf(request));
      if (answer === undefined) response.writeHead(404).end('This decision is no longer kept.\n');
      else json(response, answer);
    });
  }

  function watch({ method }: IncomingMessage, response: ServerResponse, isAllowed: () => boolean): void {
    if (method === 'HEAD') response.end();
    else if (feed.watchers < MAX_WATCHERS) feed.open(response, isAllowed);
    else response.writeHead(503, { 'retry-after': '10' }).end('Too many pages watch.\n');
  }

  async function attempt(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await policies.attempt(await draftIn(request), () => !response.destroyed);
      if (answer === undefined) response.writeHead(404).end('There is no such policy.\n');
      else json(response, answer);
    } catch (error) {
      if (!(error instanceof DraftRefusal) && !(error instanceof BodyFault)) throw error;
      response.writeHead(error.status, { 'content-type': 'text/plain; charset=utf-8' }).end(error.message);
    }
  }

  return { gets, posts: new Map([[DRAFT, attempt]]), close: policies.close };
}

function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at));
}

/** Answers with JSON. */
export function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
