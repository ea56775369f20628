/** The position of a request in a distributed trace, W3C Trace Context. */
export interface TraceContext {
  /** `trace-id`: 32 lower-case hex digits. */
  readonly traceId: string;
  /** Whether the caller claims to record this trace. The claim is not verified. */
  readonly isSampled: boolean;
  /** Whether the right half of `traceId` is random, level 2 of the standard. */
  readonly isRandom: boolean;
  /** `parent-id`: the latest span, 16 lower-case hex digits. */
  readonly parentId: string;
  /** The field to forward; as received if no span was added. */
  readonly traceparent: string;
  /** `tracestate` as received; undefined without a valid one. */
  readonly tracestate: string | undefined;
}
