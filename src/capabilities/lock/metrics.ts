import type { MetricRows } from '../../core/telemetry/metrics.ts';

export const lockMetrics = {
  sallyport_locked_definitions_changed: {
    kind: 'gauge',
    help: 'Definitions of an MCP server that differ from the lock of the route',
    labels: ['route'],
    aggregator: 'max',
  },
} as const satisfies MetricRows;
