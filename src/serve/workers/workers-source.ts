import type { Worker } from 'node:cluster';
import type { Batch } from '../../admin/console/messages.ts';
import {
  type AnswerOf,
  type ArgumentOf,
  type ConsoleSource,
  joinedAnswer,
  type Question,
} from '../../admin/console/process-source.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

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
    async ask<Name extends Question>(name: Name, argument: ArgumentOf<Name>) {
      const answers = await Promise.all(workers().map((worker) => askOne(worker, name, argument)));
      return joinedAnswer(name, answers.filter((answer) => answer !== undefined) as AnswerOf<Name>[]);
    },
  };
}
