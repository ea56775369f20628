import type { MetricRows } from '../../core/telemetry/metrics.ts';

export const metrics = {
  sallyport_upstream_calls: {
    kind: 'gauge',
    help: 'Calls of a route with concurrency that its upstream has now',
    labels: ['route'],
    aggregator: 'sum',
  },
  sallyport_upstream_queue: {
    kind: 'gauge',
    help: 'Calls of a route with concurrency that wait for their turn',
    labels: ['route'],
    aggregator: 'sum',
  },
} as const satisfies MetricRows;
