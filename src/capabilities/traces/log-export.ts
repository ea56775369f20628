import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../core/lib/clock.ts';
import { boundedAnswer } from '../../core/lib/http/bodies.ts';
import { ownFetch } from '../../tokens/servers/own-fetch.ts';
import { isObject, ownMemberAt } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import type { Telemetry } from './slot.ts';

/** Observes the export of log records. */
export interface LogExportObserver {
  readonly dropped: (count: number) => void;
  /** The collector takes no more records, because of `problem`; undefined: it takes them again. */
  readonly collector: (problem: string | undefined) => void;
}

/** The export of decision lines as OTLP log records. */
export interface LogExport {
  /** Takes a line. Without room it is dropped. @param spanId Of the call's own span, 16 hexadecimal digits. */
  add(line: string, spanId: string | undefined): void;
  /** Sends the waiting lines, within a time limit. */
  close(): Promise<void>;
}

interface WaitingLine {
  readonly line: string;
  readonly spanId: string | undefined;
}

/** The limits on lines that wait or are in flight. */
const MAX_PENDING = 4096;
const MAX_PENDING_LENGTH = 16 * 1024 * 1024;
const MAX_BATCH = 512;
const DELAY_MS = 1_000;
const TIMEOUT_MS = 5_000;
const LAST_MS = 2_000;
/** How often a batch is sent that the collector could not take: OTLP/HTTP names the statuses. */
const MAX_ATTEMPTS = 3;
const retryable = new Set([429, 502, 503, 504]);
/** The longest answer that is read. */
const MAX_ANSWER = 64 * 1024;

/** Creates the export, in OTLP over HTTP with JSON. No timer runs while nothing waits. */
export function createLogExport(
  { otlp, serviceName, headers }: Pick<Telemetry, 'otlp' | 'serviceName' | 'headers'>,
  { dropped, collector }: LogExportObserver,
): LogExport {
  const waiting: WaitingLine[] = [];
  let pending = 0;
  let pendingLength = 0;
  let isAway = false;
  let isClosing = false;
  let sending: Promise<void> | undefined;
  const stopped = new AbortController();
  /** After it nothing is sent or counted. */
  const gone = new AbortController();

  function drop(count: number): void {
    if (!gone.signal.aborted) dropped(count);
  }

  async function sendAll(): Promise<void> {
    while (waiting.length > 0 && !gone.signal.aborted) {
      if (!isClosing && waiting.length < MAX_BATCH) await pause(DELAY_MS);
      const batch = waiting.splice(0, MAX_BATCH);
      await send(batch);
      pending -= batch.length;
      for (const { line } of batch) pendingLength -= line.length;
    }
  }

  /** Ends early when the export closes. */
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { ref: false, signal: stopped.signal }).catch(() => {});
  }

  async function send(batch: readonly WaitingLine[]): Promise<void> {
    const body = JSON.stringify(requestOf(batch, serviceName));
    for (let attempt = 1; ; attempt += 1) {
      const result = await post(`${otlp}/v1/logs`, { body, headers, signal: gone.signal });
      if (gone.signal.aborted) return;
      tell(result.problem);
      if (result.problem === undefined) {
        if (result.rejected > 0) drop(result.rejected);
        return;
      }
      if (!result.mayRetry || attempt === MAX_ATTEMPTS || isClosing) return drop(batch.length);
      await pause(attempt * DELAY_MS);
    }
  }

  function tell(problem: string | undefined): void {
    if (isAway === (problem !== undefined)) return;
    isAway = problem !== undefined;
    collector(problem);
  }

  return {
    add(line, spanId) {
      if (isClosing || pending >= MAX_PENDING || pendingLength + line.length > MAX_PENDING_LENGTH) return drop(1);
      pending += 1;
      pendingLength += line.length;
      waiting.push({ line, spanId });
      sending ??= sendAll().finally(() => (sending = undefined));
    },
    async close() {
      isClosing = true;
      stopped.abort();
      const left = sending?.then(() => 'sent' as const);
      if (left === undefined || (await within(LAST_MS, left).catch(() => undefined)) === 'sent') return;
      drop(pending);
      gone.abort();
    },
  };
}

type Posted =
  | { readonly problem: undefined; readonly rejected: number }
  | { readonly problem: string; readonly mayRetry: boolean };

interface Post {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

async function post(url: string, { body, headers, signal }: Post): Promise<Posted> {
  try {
    const response = await ownFetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await (await boundedAnswer(response, MAX_ANSWER)).text();
    if (!response.ok) return { problem: `status ${response.status}`, mayRetry: retryable.has(response.status) };
    const rejected = Number(ownMemberAt(parsedJson(text), ['partialSuccess', 'rejectedLogRecords']) ?? 0);
    return { problem: undefined, rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0 };
  } catch (error) {
    return { problem: problemOf(error), mayRetry: true };
  }
}

/** The system's error code; never a text of the collector. */
function problemOf(error: unknown): string {
  const { name, cause } = error as Error;
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code ?? name;
}

/** `SEVERITY_NUMBER_INFO` and `SEVERITY_NUMBER_WARN`. */
const severities = {
  info: { severityNumber: 9, severityText: 'INFO' },
  warn: { severityNumber: 13, severityText: 'WARN' },
} as const;

/** OpenTelemetry protocol 1.x, `ExportLogsServiceRequest`. */
function requestOf(batch: readonly WaitingLine[], serviceName: string): object {
  return {
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: serviceName } }] },
        scopeLogs: [{ scope: { name: 'sallyport' }, logRecords: batch.map(recordOf) }],
      },
    ],
  };
}

/** The members of a line that a record has at a place of its own. */
const placed: ReadonlySet<string> = new Set(['time', 'level', 'msg']);

function recordOf({ line, spanId }: WaitingLine): object {
  const entry = parsedJson(line);
  const members = isObject(entry) ? entry : {};
  const { time, msg, allow, trace_id: traceId } = members;
  const nanoseconds = `${Date.parse(String(time))}000000`;
  return {
    timeUnixNano: nanoseconds,
    observedTimeUnixNano: nanoseconds,
    ...(allow === false ? severities.warn : severities.info),
    body: { stringValue: String(msg) },
    attributes: Object.entries(members)
      .filter(([key]) => !placed.has(key))
      .map(([key, value]) => ({ key, value: valueOf(value) })),
    ...(traceId !== undefined && { traceId, spanId }),
  };
}

function valueOf(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(valueOf) } };
  if (!isObject(value)) return {};
  return { kvlistValue: { values: Object.entries(value).map(([key, inner]) => ({ key, value: valueOf(inner) })) } };
}
