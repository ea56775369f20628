import type { MetricRows } from '../../core/telemetry/metrics.ts';

export const approvalMetrics = {
  sallyport_approvals_total: {
    kind: 'counter',
    help: 'What happened to requests for approvals',
    labels: ['route', 'event'],
  },
  sallyport_approvals_waiting: {
    kind: 'gauge',
    help: 'Requests for approvals that wait for a person',
    labels: ['route'],
    aggregator: 'max',
  },
  sallyport_approval_notifications_lost_total: {
    kind: 'counter',
    help: 'Events that approvals.notify did not take',
    labels: ['event'],
  },
} as const satisfies MetricRows;
