/**
 * Spans by OpenTelemetry. Loaded only where traces are configured: its packages cost more at start than the rest of us.
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
import { SamplingDecision, TracerProvider, type Sampler } from '@opentelemetry/sdk-trace';
import { traceparentOf, type TraceContext } from '../lib/trace-context.ts';
import type { Telemetry } from '../model/config.ts';
import type { Span, SpanAttributes, Tracer } from '../model/tracer.ts';
import { createSpanExport, type SpanExportObserver } from './span-export.ts';

/** RFC 9110 §9 and RFC 5789; any other method could be a name that a caller makes up. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE']);
/** Of one value, in UTF-16 code units: paths come from callers. */
const MAX_VALUE = 512;

const sampledKey = createContextKey('sallyport.sampled');

/** Whether a call is recorded was decided before its first span. */
const asDecided: Sampler = {
  shouldSample: (context) => ({
    decision: context.getValue(sampledKey) === true ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
  }),
  toString: () => 'AsDecided',
};

/** Creates what makes spans and sends them to the collector. @param random From 0 to below 1. */
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

  /**
   * A client that nobody vouches for must not choose what we record, nor what it costs (W3C Trace Context, Security Considerations): its wish
   * is granted as often as `sample` says, by our own dice, since it chooses the trace id too. That it wants nothing
   * recorded hides nothing: the decision log has it.
   */
  function isRecorded(parent: TraceContext | undefined, isTrusted: boolean): boolean {
    if (parent !== undefined && !parent.isSampled) return false;
    return (parent !== undefined && isTrusted) || random() < sample;
  }

  function wrap(made: ApiSpan, outer: Context, parent: TraceContext | undefined): Span {
    let failed = false;
    const span: Span = {
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
      end: () => {
        if (spanExport.admit()) made.end();
      },
    };
    contexts.set(span, trace.setSpan(outer, made));
    return span;
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
      const span = wrap(made, outer, parent);
      return { context: span.context, span };
    },
    begin(parent, name, kind, attributes = {}) {
      const outer = contexts.get(parent) ?? ROOT_CONTEXT;
      const options = {
        kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: withoutGaps(attributes),
      };
      return wrap(tracer.startSpan(name, options, outer), outer, parent.context);
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

/** What whoever works for a span is told. `tracestate` goes on as it came: we put nothing in. */
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
