import type { TraceContext } from '../../core/lib/http/trace.ts';
import type { Call } from '../../core/model/call.ts';

/** The attributes of a span; an undefined one is left out. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A timed operation of a trace. */
export interface Span {
  /** The context for outgoing requests, with this span as the parent. */
  readonly context: TraceContext;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /**
   * Marks the span as failed; only the first call counts. `type` is one of a closed set: the text of an error may hold
   * more than a tracing backend should know.
   */
  fail(type: string): void;
  /**
   * Moves the span of a call, and the spans below it, into the trace that the MCP message names. Only before
   * {@link settle}, and only if the request itself named no trace.
   */
  follow(parent: TraceContext): void;
  /** Settles the trace: the call has no message, or its message names no other trace. */
  settle(): void;
  /** Ends the span. Must be called last, and once. */
  end(): void;
}

interface Joined {
  readonly context: TraceContext;
  readonly span: Span | undefined;
}

/** Makes spans. No method blocks or throws, and memory is bounded, even if the collector is
 * unavailable. */
export interface Tracer {
  /**
   * Lets a call join the trace that it names, or begins one. Decides whether the call, with all spans below it, is
   * recorded.
   *
   * @param isTrusted Whether the gateway honours the sampled flag of the peer.
   */
  join(call: Pick<Call, 'trace' | 'method' | 'startedAt'>, isTrusted: boolean, attributes: SpanAttributes): Joined;
  /** The context of a call that is not recorded, if its message names the trace. */
  pass(parent: TraceContext): TraceContext;
  begin(parent: Span, name: string, kind: 'internal' | 'client', attributes?: SpanAttributes): Span;
  /** Runs `work` for a span: all that it starts, now or later, finds the span as {@link current}. */
  within<Value>(span: Span, work: () => Value): Value;
  readonly current: () => Span | undefined;
  /** Sends the spans that have ended, within a time limit. */
  close(): Promise<void>;
}
