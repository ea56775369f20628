import type { MetricRows } from '../../core/telemetry/metrics.ts';

/** The metrics of a gateway with `revocation`. */
export const revocationMetrics: MetricRows = {
  sallyport_revocations_total: {
    kind: 'counter',
    help: 'Events that ask for a revocation, by what became of them',
    labels: ['source', 'event', 'result'],
  },
  sallyport_revocations_kept: {
    kind: 'gauge',
    help: 'Revocations that are remembered, of at most 1,000,000',
    labels: [],
    aggregator: 'max',
    isMeasured: true,
  },
  sallyport_revocation_room_used: {
    kind: 'gauge',
    help: 'The share of the room for revocations of an issuer that is used, 0 to 1',
    labels: ['issuer'],
    aggregator: 'max',
    isMeasured: true,
  },
  sallyport_revocation_source_up: {
    kind: 'gauge',
    help: '1 while events of the transmitter arrive; absent where another replica sees to it',
    labels: ['source'],
    aggregator: 'min',
  },
};
