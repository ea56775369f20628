import type { Worker } from 'node:cluster';
import type { FromWorker, ToWorker, WorkerState } from './worker-messages.ts';

/** How long a worker may take to say how it sees the world. */
const PATIENCE_MS = 1_000;

/** Creates what asks workers how they see the world. Who does not say so soon is left out. */
export function createStates(
  tell: (worker: Worker, message: ToWorker) => void,
): (workers: readonly Worker[]) => Promise<readonly WorkerState[]> {
  let asked = 0;

  function ask(worker: Worker): Promise<WorkerState | undefined> {
    return new Promise((resolve) => {
      const id = (asked += 1);
      const listen = (message: FromWorker): void => {
        if (message.kind === 'state' && message.id === id) done(message.state);
      };
      const timer = setTimeout(() => done(undefined), PATIENCE_MS);
      const done = (state: WorkerState | undefined): void => {
        clearTimeout(timer);
        worker.off('message', listen);
        resolve(state);
      };
      worker.on('message', listen);
      tell(worker, { kind: 'state', id });
    });
  }

  return async (workers) => (await Promise.all(workers.map(ask))).filter((state) => state !== undefined);
}
