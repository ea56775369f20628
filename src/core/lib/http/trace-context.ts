import type { TraceContext } from './trace.ts';

/** A limit for unknown versions, which may be longer than version 00. */
const MAX_TRACEPARENT = 512;
/** Trace Context §3.3, list. The limit on header sections limits its length. */
const MAX_MEMBERS = 32;
const SAMPLED = 1;
const RANDOM = 2;

/** Trace Context §3.2.2. Only a later version has a part after the flags, §3.2.4. */
const field = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-+\--~]*)?$/;
const zeros = /^0+$/;
/** Trace Context §3.3, list-members; keys by level 2, where those of level 1 fit too. */
const member = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/**
 * Reads `traceparent` and `tracestate`; undefined if the first is not valid or duplicate (Trace Context §3.2). A
 * `tracestate` that is not valid is ignored, §3.3.
 *
 * @param traceparent The values of all fields, joined by commas.
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

/**
 * The field of version 00 that makes a span of the gateway the parent, Trace Context §3.4. It sets no unknown flags.
 */
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
  // Then `trim` removes only optional whitespace.
  if (!/^[\t -~]*$/.test(text)) return false;
  const members = text.split(',').map((each) => each.trim());
  const filled = members.filter((each) => each !== '');
  return filled.length > 0 && filled.length <= MAX_MEMBERS && filled.every((each) => member.test(each));
}
