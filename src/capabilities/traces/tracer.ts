/**
 * Spans by OpenTelemetry. Loaded only if traces are configured: its packages take longer to load than the gateway
 * itself.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createContextKey,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as ApiSpan,
} from '@opentelemetry/api';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  SamplingDecision,
  TracerProvider,
  type ReadableSpan,
  type Sampler,
  BatchSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import { within } from '../../core/lib/clock.ts';
import { ownEgress } from '../../ports/own-requests.ts';
import type { TraceContext } from '../../core/lib/http/trace.ts';
import { traceparentOf } from '../../core/lib/http/trace-context.ts';
import type { Span, SpanAttributes, Tracer } from './span.ts';
import type { Telemetry } from './slot.ts';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';

/** RFC 9110 §9 and RFC 5789; any other method may be a name that a caller made up. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE']);
/** The longest value of an attribute, in UTF-16 code units: callers choose paths. */
const MAX_VALUE = 512;

const sampledKey = createContextKey('sallyport.sampled');

const asDecided: Sampler = {
  shouldSample: (context) => ({
    decision: context.getValue(sampledKey) === true ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
  }),
  toString: () => 'AsDecided',
};

/** The spans of a call whose message may still name its trace. None of them is exported before that is settled. */
interface Early {
  isOpen: boolean;
  /** Moves each into the trace of a message, the outermost first. */
  readonly moves: ((named: TraceContext) => void)[];
  /** Exports each span that has ended. */
  readonly ended: (() => void)[];
}

interface Place {
  /** Undefined for the call's own span. */
  readonly above: Span | undefined;
  readonly early: Early | undefined;
}

/** Creates the tracer, which sends spans to the collector. @param random From 0 to below 1. */
export function createTracer(
  { otlp, serviceName, sample, headers }: Telemetry,
  observer: SpanExportObserver,
  random: () => number = Math.random,
): Tracer {
  const spanExport = createSpanExport(otlp, headers, observer);
  const provider = new TracerProvider({
    sampler: asDecided,
    spanProcessors: [spanExport.processor],
    spanLimits: { attributeValueLengthLimit: MAX_VALUE },
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': serviceName })),
  });
  const tracer = provider.getTracer('sallyport');
  const working = new AsyncLocalStorage<Span>();
  const contexts = new WeakMap<Span, Context>();
  const earlyOf = new WeakMap<Span, Early>();

  /**
   * An untrusted client must not choose what is recorded, nor what that costs (W3C Trace Context, Security
   * Considerations). Its sampled flag is honoured with probability `sample`, by a random number of the gateway, since
   * the client also chooses the trace id. A client that clears the flag hides nothing: the decision log has the call.
   */
  function isRecorded(parent: TraceContext | undefined, isTrusted: boolean): boolean {
    if (parent !== undefined && !parent.isSampled) return false;
    return (parent !== undefined && isTrusted) || random() < sample;
  }

  function wrap(first: ApiSpan, outer: Context, parent: TraceContext | undefined, { above, early }: Place): Span {
    let made = first;
    let failed = false;
    const handOver = (at?: number): void => {
      if (spanExport.admit()) made.end(at);
    };
    // No getter: V8 would make a hidden class for each span, and keep the span until the next full collection.
    const span: { -readonly [Member in keyof Span]: Span[Member] } = {
      context: contextOf(made, parent),
      rename: (name) => void made.updateName(name),
      set(attributes) {
        for (const [name, value] of Object.entries(attributes)) {
          if (value !== undefined) made.setAttribute(name, value);
        }
      },
      fail(type) {
        if (failed) return;
        failed = true;
        made.setAttribute('error.type', type);
        made.setStatus({ code: SpanStatusCode.ERROR });
      },
      follow(named) {
        if (early?.isOpen === true) for (const move of early.moves) move(named);
        span.settle();
      },
      settle() {
        if (early?.isOpen !== true) return;
        early.isOpen = false;
        for (const each of early.ended) each();
      },
      end() {
        if (above === undefined) span.settle();
        const at = performance.now();
        if (early?.isOpen === true) early.ended.push(() => handOver(at));
        else handOver(at);
      },
    };
    contexts.set(span, trace.setSpan(outer, made));
    if (early?.isOpen !== true) return span;
    earlyOf.set(span, early);
    early.moves.push((named) => {
      const within =
        above === undefined
          ? remote(named).setValue(sampledKey, named.isSampled)
          : (contexts.get(above) ?? ROOT_CONTEXT);
      made = begunAgain(made, within);
      span.context = contextOf(made, named);
      contexts.set(span, trace.setSpan(within, made));
    });
    return span;
  }

  /** Starts a copy of a span in another trace, since an SDK span cannot change its trace. The first one is dropped. */
  function begunAgain(made: ApiSpan, within: Context): ApiSpan {
    // The SDK makes these spans, and its spans can be read.
    const { name, kind, startTime, attributes, status } = made as unknown as ReadableSpan;
    const again = tracer.startSpan(name, { kind, startTime, attributes }, within);
    return again.setStatus(status);
  }

  return {
    join({ trace: parent, method, startedAt }, isTrusted, attributes) {
      const known = methods.has(method);
      const outer = remote(parent).setValue(sampledKey, isRecorded(parent, isTrusted));
      const made = tracer.startSpan(
        known ? method : 'HTTP',
        {
          kind: SpanKind.SERVER,
          startTime: startedAt,
          attributes: withoutGaps({ 'http.request.method': known ? method : '_OTHER', ...attributes }),
        },
        outer,
      );
      if (!made.isRecording()) return { context: contextOf(made, parent), span: undefined };
      // If the request names no trace, its message may.
      const early = parent === undefined ? { isOpen: true, moves: [], ended: [] } : undefined;
      const span = wrap(made, outer, parent, { above: undefined, early });
      return { context: span.context, span };
    },
    pass(parent) {
      return contextOf(tracer.startSpan('HTTP', {}, remote(parent).setValue(sampledKey, false)), parent);
    },
    begin(parent, name, kind, attributes = {}) {
      const outer = contexts.get(parent) ?? ROOT_CONTEXT;
      const options = {
        kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: withoutGaps(attributes),
      };
      const place = { above: parent, early: earlyOf.get(parent) };
      return wrap(tracer.startSpan(name, options, outer), outer, parent.context, place);
    },
    within: (span, work) => working.run(span, work),
    current: () => working.getStore(),
    close: spanExport.close,
  };
}

/** The context in which the caller's span is the parent. */
function remote(parent: TraceContext | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.parentId,
    traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(parent.tracestate !== undefined && { traceState: createTraceState(parent.tracestate) }),
  });
}

/** The context for requests within a span. `tracestate` stays as it came: the gateway adds nothing. */
function contextOf(made: ApiSpan, parent: TraceContext | undefined): TraceContext {
  const { traceId, spanId, traceFlags } = made.spanContext();
  const ids = {
    traceId,
    parentId: spanId,
    isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0,
    isRandom: parent?.isRandom === true,
  };
  return { ...ids, traceparent: traceparentOf(ids), tracestate: parent?.tracestate };
}

function withoutGaps(attributes: SpanAttributes): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, string | number | boolean] => entry[1] !== undefined),
  );
}

/** Observes the export of spans that have ended. */
export interface SpanExportObserver {
  /** The collector took `count` spans, or they were dropped. */
  readonly spans: (result: 'exported' | 'dropped', count: number) => void;
  /** The collector takes no more spans, because of `problem`; undefined: it takes them again. */
  readonly collector: (problem: string | undefined) => void;
}

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
const DELAY_MS = 1_000;
const TIMEOUT_MS = 5_000;
const LAST_MS = 2_000;

function createSpanExport(
  otlp: string,
  headers: Readonly<Record<string, string>>,
  observer: SpanExportObserver,
): SpanExport {
  let egress = ownEgress();
  let exporter = exporterOf();
  let pending = 0;
  let isAway = false;

  function exporterOf(): OTLPTraceExporter {
    const url = `${otlp}/v1/traces`;
    const agent = egress?.agentFor(new URL(url));
    return new OTLPTraceExporter({
      url,
      headers,
      timeoutMillis: TIMEOUT_MS,
      ...(agent !== undefined && { httpAgentOptions: () => agent }),
    });
  }

  /** The exporter keeps the agent of its beginning; a reload may have changed the proxy. */
  function currentExporter(): OTLPTraceExporter {
    if (egress !== ownEgress()) {
      egress = ownEgress();
      void exporter.shutdown();
      exporter = exporterOf();
    }
    return exporter;
  }

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
        currentExporter().export(spans, (result) => {
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
    // Spans that cannot be sent now are reported already.
    close: () => within(LAST_MS, processor.shutdown()).catch(() => {}),
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
