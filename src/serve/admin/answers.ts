/**
 * What the admin listener learns of the processes of the gateway: what each answers, and the state of all.
 *
 * @module
 */

import { type AdminSource, type Answered, type Fed, Question } from '../../capabilities/admin.ts';
import { capabilities } from '../../capabilities/all.ts';
import type { ServerState } from '../../ports/authorization-server-client.ts';
import type { StoreState } from '../../ports/shared.ts';

/** The state of what a process depends on, with members of capabilities. */
export interface GatewayState {
  readonly servers: readonly ServerState[];
  /** Undefined: none is configured. */
  readonly store?: StoreState | undefined;
}

/** The state of all processes. */
export const processState = new Question<undefined, GatewayState>('state', {
  join: (states) =>
    Object.assign(
      { servers: worstOf(states.flatMap(({ servers }) => servers)), store: states[0]?.store },
      ...capabilities.map((each) => each.joinStates?.(states)),
    ),
});

/** What a process answers and tells, by names. */
export interface ProcessAnswers {
  answer(question: string, argument: unknown): unknown;
  /** @returns what ends it. */
  watch(feed: string, onPiece: (piece: unknown) => void): () => void;
}

/** Joins what the parts of a process answer and tell. */
export function processAnswers(answers: readonly Answered[], feeds: readonly Fed[]): ProcessAnswers {
  const byName = new Map(answers.map(({ name, answer }) => [name, answer]));
  const fed = new Map(feeds.map(({ name, watch }) => [name, watch]));
  return {
    answer: (question, argument) => named(byName, question)(argument),
    watch: (feed, onPiece) => named(fed, feed)(onPiece),
  };
}

function named<Value>(all: ReadonlyMap<string, Value>, name: string): Value {
  const found = all.get(name);
  if (found === undefined) throw new TypeError(`no part of the process knows ${name}`);
  return found;
}

/** The source of a single process. */
export function singleSource(process: ProcessAnswers): AdminSource {
  return {
    // The answer has the type of its question: `Question.by` made it.
    ask: async ({ name }, argument) => (await process.answer(name, argument)) as never,
    watch: ({ name }, onPiece) => process.watch(name, onPiece as (piece: unknown) => void),
  };
}

const severity = { unknown: 0, available: 1, degraded: 2, stale: 3, unavailable: 4 } as const;

/** Each server in the worst state that a worker reports; of equal states, the one with the oldest keys. */
function worstOf(servers: readonly ServerState[]): readonly ServerState[] {
  const states = Object.groupBy(servers, ({ name }) => name);
  return Object.values(states).flatMap((ofServer = []) => ofServer.toSorted(worstFirst).slice(0, 1));
}

function worstFirst(one: ServerState, other: ServerState): number {
  const difference = severity[other.state] - severity[one.state];
  return difference === 0 ? ageOrder(one) - ageOrder(other) : difference;
}

/** Servers without keys come last. */
function ageOrder({ keys }: ServerState): number {
  return keys === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(keys.fetched);
}
