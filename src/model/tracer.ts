import type { TraceContext } from '../http/trace-context.ts';
import type { Call } from './call.ts';

/** What a span says besides its name; undefined says nothing. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A piece of work that is measured, as a part of a trace. */
export interface Span {
  /** As who works for it is told: with this span as the parent. */
  readonly context: TraceContext;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** Marks it as failed; the first word counts. `type` is of a closed set: what an error says in words may be more than a tracing backend should know. */
  fail(type: string): void;
  /**
   * Moves a call's own span, with what was begun for it, into the trace that the call's message names. Only before
   * {@link settle}, and only where the request itself named no trace.
   */
  follow(parent: TraceContext): void;
  /** Says that the message names no other trace, or that there is none. */
  settle(): void;
  /** Must come last, and once. */
  end(): void;
}

/** What a call is a part of from now on, and its own span; undefined where it is not recorded. */
interface Joined {
  readonly context: TraceContext;
  readonly span: Span | undefined;
}

/** Makes spans. Nothing of it waits, throws or grows, whatever becomes of them. */
export interface Tracer {
  /**
   * Lets a call take part in the trace that it names, or begins one. Whether it is recorded is decided here, for all that
   * is done for it.
   *
   * @param isTrusted Whether the peer's word that a trace is to be recorded counts.
   */
  join(call: Pick<Call, 'trace' | 'method' | 'startedAt'>, isTrusted: boolean, attributes: SpanAttributes): Joined;
  /** What a call that is not recorded is a part of, where its message names the trace. */
  pass(parent: TraceContext): TraceContext;
  begin(parent: Span, name: string, kind: 'internal' | 'client', attributes?: SpanAttributes): Span;
  /** Does `work` for a span: what it begins, now or later, finds it as {@link current}. */
  within<Value>(span: Span, work: () => Value): Value;
  readonly current: () => Span | undefined;
  /** Hands over what has ended, within a bound. */
  close(): Promise<void>;
}
