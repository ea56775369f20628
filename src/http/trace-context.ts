/** Where a request stands in a distributed trace, W3C Trace Context. */
export interface TraceContext {
  /** `trace-id`: 32 lower-case hex digits. */
  readonly traceId: string;
  /** Whether the caller says that it recorded this trace. Anybody can say so. */
  readonly isSampled: boolean;
  /** Whether the right half of `traceId` is known to be random, by level 2 of the standard. */
  readonly isRandom: boolean;
  /** `parent-id`: the span that came last, 16 lower-case hex digits. */
  readonly parentId: string;
  /** The field for who comes next; a context that was only read has it as it came. */
  readonly traceparent: string;
  /** Its companion, as it came; undefined where there was none, or nothing that could be read. */
  readonly tracestate: string | undefined;
}

/** Of a version that is not known yet, since it may be longer; nobody needs more. */
const MAX_TRACEPARENT = 512;
/** Trace Context §3.3, list. How long it may be is left to who passes it on, and so to the limit on header sections. */
const MAX_MEMBERS = 32;
const SAMPLED = 1;
const RANDOM = 2;

/** Trace Context §3.2.2. What comes after the flags is of a later version, which may only add to this one, §3.2.4. */
const field = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-+\--~]*)?$/;
const zeros = /^0+$/;
/** Trace Context §3.3, list-members; keys by level 2, where those of level 1 fit too. */
const member = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/**
 * Reads `traceparent` and its companion; undefined where the first is not valid, or stands twice (Trace Context §3.2).
 * A `tracestate` that is not valid is left out, and spoils nothing, §3.3.
 *
 * @param traceparent Of several fields, the values with commas between them.
 * @param tracestate The same.
 */
export function readTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | undefined {
  if (traceparent === undefined || traceparent.length > MAX_TRACEPARENT) return undefined;
  const [, version, traceId = '', parentId = '', flags = '', more] = field.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff') return undefined;
  if (version === '00' && more !== undefined) return undefined;
  if (zeros.test(traceId) || zeros.test(parentId)) return undefined;
  const bits = Number.parseInt(flags, 16);
  return {
    traceId,
    parentId,
    isSampled: (bits & SAMPLED) !== 0,
    isRandom: (bits & RANDOM) !== 0,
    traceparent,
    tracestate: tracestate !== undefined && isTracestate(tracestate) ? tracestate : undefined,
  };
}

/** The field of version 00 by which a span of ours becomes the parent, Trace Context §3.4; unknown flags are not set. */
export function traceparentOf({
  traceId,
  parentId,
  isSampled,
  isRandom,
}: Pick<TraceContext, 'traceId' | 'parentId' | 'isSampled' | 'isRandom'>): string {
  const flags = (isSampled ? SAMPLED : 0) | (isRandom ? RANDOM : 0);
  return `00-${traceId}-${parentId}-0${flags}`;
}

function isTracestate(text: string): boolean {
  // Of what `trim` takes off, only optional whitespace is left then.
  if (!/^[\t -~]*$/.test(text)) return false;
  const members = text.split(',').map((each) => each.trim());
  const filled = members.filter((each) => each !== '');
  return filled.length > 0 && filled.length <= MAX_MEMBERS && filled.every((each) => member.test(each));
}
