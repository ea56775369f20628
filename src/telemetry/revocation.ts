import { Counter, Gauge, Registry } from 'prom-client';
import type { RevocationObserver } from '../model/observer.ts';
import type { Log } from './log.ts';

/** The metrics and the log of revocations. They live in the process that keeps revocations, once for all workers. */
export interface RevocationTelemetry extends RevocationObserver {
  /** Its metrics, in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
}

/** Creates them. @param kept How many revocations are remembered. */
export function createRevocationTelemetry(log: Pick<Log, 'event'>, kept: () => number): RevocationTelemetry {
  const registry = new Registry();
  const registers = [registry];
  const revocations = new Counter({
    name: 'sallyport_revocations_total',
    help: 'Events that ask for a revocation, by what became of them',
    labelNames: ['source', 'event', 'result'],
    registers,
  });
  const keptGauge = new Gauge({
    name: 'sallyport_revocations_kept',
    help: 'Revocations that are remembered, of at most 1,000,000',
    registers,
  });
  const up = new Gauge({
    name: 'sallyport_revocation_source_up',
    help: '1 while events of the transmitter arrive; absent where another replica sees to it',
    labelNames: ['source'],
    registers,
  });
  return {
    metrics() {
      keptGauge.set(kept());
      return registry.metrics();
    },
    counted: (source, event, result) => revocations.inc({ source, event, result }),
    sourceUp: (source, isUp) => (isUp === undefined ? up.remove({ source }) : up.set({ source }, Number(isUp))),
    event: (level, msg, fields) => log.event(level, msg, fields),
  };
}
