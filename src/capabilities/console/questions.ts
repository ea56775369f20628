/**
 * What the console asks of the processes of the gateway.
 *
 * @module
 */

import { Feed, type ProcessObserver, Question } from '../admin.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { calledIn, type CommonMembers, type DecisionRecord, policyName } from '../../core/model/decision.ts';
import { type Batch, type DecisionRow, type Filter, liveNames, type Past, selects } from './messages.ts';
import type { ShownList } from '../../core/model/events.ts';
import type { RateSlot } from './rates.ts';
import type { CountedDecision } from './recent-decisions.ts';
import { Recorder } from './recorder.ts';

const MAX_ROWS = 500;
const MAX_BATCH = 100;
const BATCH_MS = 200;

/** The kept decisions that a filter selects. */
export const past = new Question<Filter, Past>('past', {
  join: (pasts) => ({
    rows: newestFirst(pasts.flatMap(({ rows }) => rows)).slice(0, MAX_ROWS),
    selected: sum(pasts.map(({ selected }) => selected)),
    kept: sum(pasts.map(({ kept }) => kept)),
  }),
});

/** A kept decision, and what its answer lacks. */
export interface FoundDecision {
  readonly decision: DecisionRecord;
  readonly list: ShownList | undefined;
}

/** The kept decision of an id; undefined if there is none. */
export const find = new Question<string, FoundDecision | undefined>('find', {
  join: (records) => records.find((record) => record !== undefined),
});

export const rates = new Question<undefined, readonly RateSlot[]>('rates', { join: (slots) => slots.flat() });

/** The kept decisions of a policy, those that are alike once. */
export const distinct = new Question<string, readonly CountedDecision[]>('distinct', {
  join: (groups) => groups.flat(),
});

/** New decisions, a few times a second. */
export const newDecisions = new Feed<Batch>('decisions');

/** The members of the state of processes that are for the console. */
export interface ObservedState {
  readonly openStreams: number;
  /** When the listener's certificate expires, in milliseconds since the epoch; undefined without TLS. */
  readonly certificateExpires?: number | undefined;
}

/** Records the decisions of a process, and answers about them. */
export function observeProcess(clock: Clock): ProcessObserver {
  const recorder = new Recorder(clock);
  const { decisions } = recorder;
  return {
    events: recorder,
    answers: [
      past.by((filter) => {
        const isWanted = (common: CommonMembers, path?: string): boolean =>
          selects(filter, { ...common, called: calledIn({ ...common, path }) });
        const { decisions: selected, ...counts } = decisions.select(isWanted, MAX_ROWS);
        return { rows: selected.map(rowOf), ...counts };
      }),
      find.by((id) => {
        const decision = decisions.find(id);
        return decision && { decision, list: recorder.listOf(id) };
      }),
      rates.by(() => recorder.rates.slots()),
      distinct.by((policy) => decisions.groups().filter(({ decision }) => policyName(decision) === policy)),
    ],
    feeds: [newDecisions.by((onBatch) => watchDecisions(recorder, onBatch))],
    state: (): ObservedState => ({
      openStreams: recorder.openStreams,
      certificateExpires: recorder.certificateExpires,
    }),
  };
}

/** Without a watcher nothing runs. */
function watchDecisions({ decisions }: Recorder, onBatch: (batch: Batch) => void): () => void {
  let seen = decisions.count;
  const timer = setInterval(() => {
    if (decisions.count === seen) return;
    const since = seen;
    seen = decisions.count;
    onBatch(batchOf([...decisions.newest(since)], seen - since));
  }, BATCH_MS);
  return () => clearInterval(timer);
}

/** Refusals take precedence: of the allowed calls, evenly spread ones are left out. */
function batchOf(decisions: readonly DecisionRecord[], count: number): Batch {
  const all = decisions.map(rowOf);
  if (all.length <= MAX_BATCH) return { rows: all, leftOut: count - all.length };
  const others = all.filter(({ kind }) => kind !== 'allowed').slice(0, MAX_BATCH);
  const room = MAX_BATCH - others.length;
  const allowed = all.filter(({ kind }) => kind === 'allowed');
  const step = Math.max(allowed.length / room, 1);
  const spread = allowed
    .filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step))
    .slice(0, room);
  const rows = newestFirst([...others, ...spread]);
  return { rows, leftOut: count - rows.length };
}

/** A decision as a row of Live. */
export function rowOf(decision: DecisionRecord): DecisionRow {
  const row: Record<string, unknown> = { called: calledIn(decision) };
  for (const name of liveNames) row[name] = decision[name];
  return row as unknown as DecisionRow;
}

function newestFirst(rows: readonly DecisionRow[]): readonly DecisionRow[] {
  return rows.toSorted((one, other) => other.at - one.at);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
