import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';

/** What is told of spans that have ended. */
export interface SpanExportObserver {
  /** So many were taken by the collector, or given up. */
  readonly spans: (result: 'exported' | 'dropped', count: number) => void;
  /** The collector takes no spans any more, and why; or takes them again: undefined. */
  readonly collector: (problem: string | undefined) => void;
}

/** The way of spans to the collector, behind everything else. */
interface SpanExport {
  readonly processor: SpanProcessor;
  /** Whether there is room for one more that ends; otherwise it is given up. */
  admit(): boolean;
  /** Sends what waits, as far as it goes in a moment. */
  readonly close: () => Promise<void>;
}

/** `ExportResultCode.SUCCESS`. */
const SUCCESS = 0;
/** Spans that wait or are on their way; about 2 MiB. */
const MAX_PENDING = 2048;
/** How old a span gets before it is sent. */
const DELAY_MS = 1_000;
/** Of one batch, with all attempts. */
const TIMEOUT_MS = 5_000;
/** How long the last spans may take. */
const LAST_MS = 2_000;

/** Creates the way to the collector at `otlp`, OTLP/HTTP with protobuf. */
export function createSpanExport(
  otlp: string,
  headers: Readonly<Record<string, string>>,
  observer: SpanExportObserver,
): SpanExport {
  const exporter = new OTLPTraceExporter({ url: `${otlp}/v1/traces`, headers, timeoutMillis: TIMEOUT_MS });
  let pending = 0;
  let isAway = false;

  function sent(count: number, error: Error | undefined): void {
    pending -= count;
    observer.spans(error === undefined ? 'exported' : 'dropped', count);
    if (isAway === (error !== undefined)) return;
    isAway = error !== undefined;
    observer.collector(error && problemOf(error));
  }

  const observed: SpanExporter = {
    export(spans, done) {
      try {
        exporter.export(spans, (result) => {
          // The enumeration itself is in a package that we do not use.
          const code: number = result.code;
          sent(spans.length, code === SUCCESS ? undefined : (result.error ?? new Error('not taken')));
          done(result);
        });
      } catch (error) {
        sent(spans.length, asError(error));
        done({ code: 1, error: asError(error) });
      }
    },
    shutdown: () => exporter.shutdown(),
  };
  const processor = new BatchSpanProcessor({
    exporter: observed,
    maxQueueSize: MAX_PENDING,
    scheduledDelayMillis: DELAY_MS,
    exportTimeoutMillis: 2 * TIMEOUT_MS,
  });

  return {
    processor,
    admit() {
      if (pending >= MAX_PENDING) {
        observer.spans('dropped', 1);
        return false;
      }
      pending += 1;
      return true;
    },
    async close() {
      const last = Promise.withResolvers<void>();
      const timer = setTimeout(last.resolve, LAST_MS);
      // What cannot be sent now was told already.
      await Promise.race([processor.shutdown().catch(() => {}), last.promise]);
      clearTimeout(timer);
    },
  };
}

/** The system's word, or the status: never what the collector wrote. */
function problemOf(error: Error): string {
  if (!('code' in error)) return error.message;
  return typeof error.code === 'number' ? `status ${error.code}` : String(error.code);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
