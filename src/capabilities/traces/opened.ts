import type { Tracing, TracingParts } from '../capability.ts';
import type { Telemetry } from './settings.ts';
import { traceClient } from './traced-client.ts';
import { traceGateway } from './traced-gateway.ts';
import { createTracer } from './tracer.ts';

/** Opens the export of spans. */
export function openTraces(settings: Telemetry, { log, meters }: TracingParts): Tracing {
  const tracer = createTracer(settings, {
    spans: (result, count) => meters.add('sallyport_trace_spans_total', count, result),
    collector(problem) {
      if (problem === undefined) log.event('info', 'the collector takes spans again');
      else log.event('warn', 'spans are dropped: the collector does not take them', { problem });
    },
  });
  return {
    gateway: (gateway, about) => traceGateway(gateway, tracer, about),
    client: (client) => traceClient(client, tracer),
    close: () => tracer.close(),
  };
}
