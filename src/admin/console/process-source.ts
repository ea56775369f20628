import type { ServerState } from '../../model/authorization-server.ts';
import { calledIn, type DecisionRecord, type LiveMembers, liveNames } from '../../model/decision.ts';
import type { LockState } from '../../model/lock.ts';
import { outcomeKind } from '../../model/outcome.ts';
import type { StoreState } from '../../model/shared.ts';
import type { CountedDecision } from '../../telemetry/recent-decisions.ts';
import type { RateSlot } from '../../telemetry/rates.ts';
import type { Recorder } from '../../telemetry/recorder.ts';
import { type Filter, selects } from './filter.ts';
import type { Batch, DecisionRow, Past } from './messages.ts';

/** The state of one process. */
export interface ProcessState {
  readonly servers: readonly ServerState[];
  /** Undefined: none is configured. */
  readonly store: StoreState | undefined;
  /** The routes whose policy has `lock`. */
  readonly locks: readonly LockState[];
  readonly openStreams: number;
  /** In milliseconds since the epoch; undefined without TLS. */
  readonly certificateExpires: number | undefined;
}

/** The answers of one process to the console. Each takes one argument, so that a message between processes has it. */
export interface ProcessAnswers {
  state(argument: undefined): ProcessState;
  past(filter: Filter): Past;
  find(id: string): DecisionRecord | undefined;
  rates(argument: undefined): readonly RateSlot[];
  /** The kept decisions of a policy, those that are alike once. */
  distinct(policy: string): readonly CountedDecision[];
}

/** What the console asks: one process, or all workers. */
export type ConsoleSource = {
  readonly [Question in keyof ProcessAnswers]: (
    argument: Parameters<ProcessAnswers[Question]>[0],
  ) => Promise<ReturnType<ProcessAnswers[Question]>>;
} & {
  /** Calls `onBatch` with new decisions, until the returned function is called. */
  readonly watch: (onBatch: (batch: Batch) => void) => () => void;
};

/** The console's view of one process. */
export interface ProcessConsole {
  readonly answers: ProcessAnswers;
  /** Passes on new decisions a few times a second, until the returned function is called. */
  readonly watch: (onBatch: (batch: Batch) => void) => () => void;
}

/** How many rows a page gets at once, of the past and of new decisions. */
export const MAX_ROWS = 500;
const MAX_BATCH = 100;
/** The pause between batches. */
const BATCH_MS = 200;

/** Creates the console's view of the process that `recorder` records. */
export function createProcessConsole(
  recorder: Recorder,
  state: () => Pick<ProcessState, 'servers' | 'store' | 'locks'>,
): ProcessConsole {
  return { answers: answersOf(recorder, state), watch: (onBatch) => watchDecisions(recorder, onBatch) };
}

function answersOf(recorder: Recorder, state: () => Pick<ProcessState, 'servers' | 'store' | 'locks'>): ProcessAnswers {
  const { decisions, rates, openStreams, certificateExpires } = recorder;
  return {
    state: () => ({ ...state(), openStreams: openStreams(), certificateExpires: certificateExpires() }),
    past(filter) {
      const rows: DecisionRow[] = [];
      let [selected, kept] = [0, 0];
      for (const decision of decisions.newest()) {
        kept += 1;
        const row = rowOf(decision);
        if (!selects(filter, row)) continue;
        selected += 1;
        if (rows.length < MAX_ROWS) rows.push(row);
      }
      return { rows, selected, kept };
    },
    find: (id) => decisions.find(id),
    rates: rates.slots,
    distinct: (policy) => decisions.groups().filter(({ decision }) => decision.policy === policy),
  };
}

/** The source of a single process. */
export function singleSource({ answers, watch }: ProcessConsole): ConsoleSource {
  return {
    state: async () => answers.state(undefined),
    past: async (filter) => answers.past(filter),
    find: async (id) => answers.find(id),
    rates: async () => answers.rates(undefined),
    distinct: async (policy) => answers.distinct(policy),
    watch,
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
  const rows = [...others, ...spread].toSorted((one, other) => other.at - one.at);
  return { rows, leftOut: count - rows.length };
}

/** A decision as a row of Live. */
export function rowOf(decision: DecisionRecord): DecisionRow {
  const live = Object.fromEntries(liveNames.map((name) => [name, decision[name]])) as unknown as LiveMembers;
  return { ...live, kind: outcomeKind(decision.allow, decision.reason), called: calledIn(decision) };
}
