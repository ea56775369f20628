import type { Tracing, TracingParts } from '../capability.ts';
import type { Telemetry } from './slot.ts';
import { traceClient } from './traced-client.ts';
import { traceGateway } from './traced-gateway.ts';
import { createTracer } from './tracer.ts';

/** Opens the export of spans. */
export async function openTraces(settings: Telemetry, { log, meters }: TracingParts): Promise<Tracing> {
  const dropped = (signal: 'logs' | 'traces', count: number): void =>
    meters.add('sallyport_telemetry_dropped_total', count, signal);
  const logs = settings.logs
    ? (await import('./log-export.ts')).createLogExport(settings, {
        dropped: (count) => dropped('logs', count),
        collector(problem) {
          if (problem === undefined) log.event('info', 'the collector takes log records again');
          else log.event('warn', 'log records are dropped: the collector does not take them', { problem });
        },
      })
    : undefined;
  const tracer = createTracer(settings, {
    spans(result, count) {
      meters.add('sallyport_trace_spans_total', count, result);
      if (result === 'dropped') dropped('traces', count);
    },
    collector(problem) {
      if (problem === undefined) log.event('info', 'the collector takes spans again');
      else log.event('warn', 'spans are dropped: the collector does not take them', { problem });
    },
  });
  return {
    gateway: (gateway, about) => traceGateway(gateway, tracer, about),
    client: (client) => traceClient(client, tracer),
    ...(logs !== undefined && { decided: (line: string, { trace }) => logs.add(line, trace?.parentId) }),
    async close() {
      await Promise.all([tracer.close(), logs?.close()]);
    },
  };
}
