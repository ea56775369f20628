import type { Worker } from 'node:cluster';
import type { Batch } from '../console/messages.ts';
import { type ConsoleSource, type CountedDecision, MAX_ROWS, type ProcessAnswers } from '../console/process-source.ts';
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
        servers: all[0]?.servers ?? [],
        store: all[0]?.store,
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

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
