/**
 * Spans of calls for a collector, `docs/monitoring.md`.
 *
 * @module
 */

import type { Capability } from '../capability.ts';
import { telemetry } from './slot.ts';

export const traces: Capability = {
  name: 'telemetry',
  async readSection(root) {
    const field = root.get('telemetry').given();
    return field ? telemetry.with((await import('./settings.ts')).readTelemetry(field)) : undefined;
  },
  restarts: { telemetry: { slot: telemetry } },
  metrics: {
    sallyport_trace_spans_total: {
      kind: 'counter',
      help: 'Spans that the collector took, and those that were given up',
      labels: ['result'],
    },
    sallyport_telemetry_dropped_total: {
      kind: 'counter',
      help: 'Spans and decision lines that the collector did not get',
      labels: ['signal'],
    },
  },
  async openTracing(config, parts) {
    const settings = telemetry.of(config);
    // OpenTelemetry is larger than everything else together.
    return settings && (await import('./opened.ts')).openTraces(settings, parts);
  },
};
