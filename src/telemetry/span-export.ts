import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';

/** Observes the export of spans that have ended. */
export interface SpanExportObserver {
  /** The collector took `count` spans, or they were dropped. */
  readonly spans: (result: 'exported' | 'dropped', count: number) => void;
  /** The collector takes no more spans, because of `problem`; undefined: it takes them again. */
  readonly collector: (problem: string | undefined) => void;
}

/** The export of spans to the collector, in the background. */
interface SpanExport {
  readonly processor: SpanProcessor;
  /** Reserves room for one more span; false if there is none, and the span is then dropped. */
  admit(): boolean;
  /** Sends the waiting spans, within a time limit. */
  readonly close: () => Promise<void>;
}

/** `ExportResultCode.SUCCESS`. */
const SUCCESS = 0;
/** The limit on spans that wait or are in flight; about 2 MiB. */
const MAX_PENDING = 2048;
/** How long a span waits for others before it is sent. */
const DELAY_MS = 1_000;
/** The time limit of one batch, with all attempts. */
const TIMEOUT_MS = 5_000;
/** The time limit for the last spans. */
const LAST_MS = 2_000;

/** Creates the export to the collector at `otlp`, OTLP/HTTP with protobuf. */
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
          // The enum itself is in a package that is no dependency.
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
      // Spans that cannot be sent now are reported already.
      await Promise.race([processor.shutdown().catch(() => {}), last.promise]);
      clearTimeout(timer);
    },
  };
}

/** The system's error code, or the status; never a text of the collector. */
function problemOf(error: Error): string {
  if (!('code' in error)) return error.message;
  return typeof error.code === 'number' ? `status ${error.code}` : String(error.code);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
