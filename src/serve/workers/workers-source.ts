import type { Worker } from 'node:cluster';
import type { Batch } from '../../admin/console/messages.ts';
import { type ConsoleSource, MAX_ROWS, type ProcessAnswers } from '../../admin/console/process-source.ts';
import type { ServerState } from '../../model/authorization-server.ts';
import type { CountedDecision } from '../../telemetry/recent-decisions.ts';
import type { FromWorker, Question, ToWorker } from './worker-messages.ts';

/** How long a worker may take to answer. */
const PATIENCE_MS = 1_000;

/** What the console asks all workers. */
export interface WorkersSource extends ConsoleSource {
  /** Begins to read what a new worker sends, and tells it whether its decisions are watched. */
  follow(worker: Worker): void;
}

/** Creates the source of the workers that run now. A worker that does not answer in time is left out. */
export function createWorkersSource(
  workers: () => readonly Worker[],
  tell: (worker: Worker, message: ToWorker) => void,
): WorkersSource {
  const watchers = new Set<(batch: Batch) => void>();
  let asked = 0;

  function ask<Name extends Question>(
    question: Name,
    argument: Parameters<ProcessAnswers[Name]>[0],
  ): Promise<readonly ReturnType<ProcessAnswers[Name]>[]> {
    return Promise.all(workers().map((worker) => askOne(worker, question, argument))).then(
      (answers) => answers.filter((answer) => answer !== undefined) as ReturnType<ProcessAnswers[Name]>[],
    );
  }

  function askOne(worker: Worker, question: Question, argument: unknown): Promise<unknown> {
    return new Promise((resolve) => {
      const id = (asked += 1);
      const listen = (message: FromWorker): void => {
        if (message.kind === 'answer' && message.id === id) done(message.answer);
      };
      const timer = setTimeout(() => done(undefined), PATIENCE_MS);
      const done = (answer: unknown): void => {
        clearTimeout(timer);
        worker.off('message', listen);
        resolve(answer);
      };
      worker.on('message', listen);
      tell(worker, { kind: 'ask', id, question, argument });
    });
  }

  function tellWhetherWatched(): void {
    for (const worker of workers()) tell(worker, { kind: 'watch', isWatched: watchers.size > 0 });
  }

  return {
    follow(worker) {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'decisions') for (const onBatch of watchers) onBatch(message.batch);
      });
      if (watchers.size > 0) tell(worker, { kind: 'watch', isWatched: true });
    },
    watch(onBatch) {
      watchers.add(onBatch);
      tellWhetherWatched();
      return () => {
        watchers.delete(onBatch);
        tellWhetherWatched();
      };
    },
    async state() {
      const all = await ask('state', undefined);
      return {
        servers: worstOf(all.map(({ servers }) => servers)),
        store: all[0]?.store,
        locks: all[0]?.locks ?? [],
        openStreams: sum(all.map(({ openStreams }) => openStreams)),
        certificateExpires: all[0]?.certificateExpires,
      };
    },
    async past(filter) {
      const all = await ask('past', filter);
      const rows = all.flatMap((past) => past.rows).toSorted((one, other) => other.at - one.at);
      return {
        rows: rows.slice(0, MAX_ROWS),
        selected: sum(all.map(({ selected }) => selected)),
        kept: sum(all.map(({ kept }) => kept)),
      };
    },
    find: async (id) => (await ask('find', id))[0],
    rates: async () => (await ask('rates', undefined)).flat(),
    distinct: async (policy): Promise<readonly CountedDecision[]> => (await ask('distinct', policy)).flat(),
  };
}

const severity = { unknown: 0, available: 1, degraded: 2, stale: 3, unavailable: 4 } as const;

/** Each server in the worst state that a worker reports; of equal states, the one with the oldest keys. */
function worstOf(workers: readonly (readonly ServerState[])[]): readonly ServerState[] {
  const states = Object.groupBy(workers.flat(), ({ name }) => name);
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

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
