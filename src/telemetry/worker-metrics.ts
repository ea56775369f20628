import { AggregatorRegistry, type Registry } from 'prom-client';

/** The metrics of all workers as one page, for the primary process. */
export interface WorkerMetrics {
  readonly page: () => Promise<{ readonly type: string; readonly text: string }>;
}

/** Creates the page; each worker must have called {@link reportAsWorker}. */
export function createWorkerMetrics(): WorkerMetrics {
  const registry = new AggregatorRegistry();
  return {
    page: async () => ({ type: registry.contentType, text: await registry.clusterMetrics() }),
  };
}

/** Lets the primary process ask a worker for what `registry` has counted. */
export function reportAsWorker(registry: Registry): Registry {
  AggregatorRegistry.setRegistries([registry]);
  // Its constructor is what begins to listen for the question.
  return new AggregatorRegistry();
}
