import { createReadStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { Gatherer } from '../core/lib/gatherer.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import { counted } from '../core/lib/wording.ts';
import type { DecisionRecord } from '../core/model/decision.ts';
import { recordedDecision } from '../analysis/review/recorded-decision.ts';
import { unreadable } from '../capabilities/terminal.ts';

/** The decision of a line. */
export interface LoggedDecision extends DecisionRecord {
  /** All members of the line. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/** A call that was refunded: rules over time no longer count it. */
export interface SettledCall {
  /** The id of the decision on it. */
  readonly settled: string;
}

/** A request that was allowed, and then failed: the upstream did not answer it. */
export interface RequestFailure {
  /** The id of the request. */
  readonly failed: string;
  readonly reason: string;
  readonly detail: string;
  /** Milliseconds since 1970; NaN if the line has none. */
  readonly at: number;
}

/** A list from which entries were withheld. */
export interface FilteredList {
  /** The id of the decision on its request. */
  readonly listed: string;
  /** How many entries the caller got. */
  readonly shown: number;
  /** The names of the others, as far as the line has them. */
  readonly withheld: readonly string[];
  /** How many more there were. */
  readonly more: number;
  /** `policy`, `lock`, `decision_point`. */
  readonly by: readonly string[];
}

/** What a line of a log says. */
export type LogEvent = LoggedDecision | SettledCall | RequestFailure | FilteredList;

/**
 * Why a line is skipped. `unreadable`: a decision that was cut off, or that has members of other types than the gateway
 * writes.
 */
type Skipped = 'no decision' | 'unreadable' | 'too long';

/** Reads decision logs, one JSON object a line, and counts the lines that it skips. */
export class LogReader {
  readonly #skipped = { 'no decision': 0, unreadable: 0, 'too long': 0 };
  readonly #onSkipped: (why: Skipped) => void;

  constructor(onSkipped: (why: Skipped) => void = () => {}) {
    this.#onSkipped = onSkipped;
  }

  /**
   * The decisions of a log, which calls were settled, and which requests failed.
   *
   * @param file `-` reads stdin.
   * @param follow Whether to wait for more lines at the end of the file.
   * @throws {Failure} if the file cannot be read.
   */
  async *events(file: string, follow = false): AsyncGenerator<LogEvent> {
    try {
      for await (const line of follow && file !== '-' ? followedLines(file) : linesOf(file)) {
        const event = line === undefined ? 'too long' : (failureIn(line) ?? recordIn(line));
        if (typeof event === 'string') this.#skip(event);
        else if (event !== undefined) yield event;
      }
    } catch (error) {
      throw unreadable(file, error);
    }
  }

  /** {@link events}, without failures. */
  async *records(file: string): AsyncGenerator<LoggedDecision | SettledCall> {
    for await (const event of this.events(file)) {
      if ('failed' in event || 'listed' in event) this.#skip('no decision');
      else yield event;
    }
  }

  /** {@link records}, without those of settled calls. */
  async *decisions(file: string): AsyncGenerator<LoggedDecision> {
    for await (const record of this.records(file)) {
      if ('settled' in record) this.#skip('no decision');
      else yield record;
    }
  }

  get total(): number {
    return Object.values(this.#skipped).reduce((sum, count) => sum + count, 0);
  }

  of(why: Skipped): number {
    return this.#skipped[why];
  }

  /** The decisions that may be missing, in words; empty for none. */
  get missing(): string {
    const { unreadable: cutOff, 'too long': tooLong } = this.#skipped;
    const words = [];
    if (cutOff > 0) words.push(counted(cutOff, 'unreadable decision'));
    if (tooLong > 0) words.push(`${counted(tooLong, 'line')} of more than 1 MiB`);
    return words.length === 0 ? '' : `skipped ${words.join(' and ')}`;
  }

  #skip(why: Skipped): void {
    this.#skipped[why] += 1;
    this.#onSkipped(why);
  }
}

/** The JSON object of a line. Log collectors put a timestamp or a container's name before it. */
export function objectIn(line: string): Readonly<Record<string, unknown>> | undefined {
  const start = line.indexOf('{');
  const entry = start === -1 ? undefined : parsedJson(line.slice(start));
  return isObject(entry) ? entry : undefined;
}

function recordIn(line: string): LoggedDecision | SettledCall | FilteredList | Skipped | undefined {
  if (line.trim() === '') return undefined;
  if (!line.includes('{') || !line.includes('"decision"')) return 'no decision';
  const entry = objectIn(line);
  if (entry === undefined) return /"msg": ?"decision"/.test(line) ? 'unreadable' : 'no decision';
  const { msg, decision } = entry;
  if (msg === 'list') return listIn(entry) ?? 'unreadable';
  if (msg === 'settled') return typeof decision === 'string' ? { settled: decision } : 'unreadable';
  if (msg !== 'decision') return 'no decision';
  const record = recordedDecision(entry);
  return record === undefined ? 'unreadable' : { ...record, entry };
}

function listIn(entry: Readonly<Record<string, unknown>>): FilteredList | undefined {
  const { decision, shown, withheld, withheld_more: more = 0, by } = entry;
  if (typeof decision !== 'string' || typeof shown !== 'number' || typeof more !== 'number') return undefined;
  if (!areTexts(withheld) || !areTexts(by)) return undefined;
  return { listed: decision, shown, withheld, more, by };
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function failureIn(line: string): RequestFailure | undefined {
  if (!line.includes('"request failed"')) return undefined;
  const entry = objectIn(line);
  if (entry === undefined || entry['msg'] !== 'request failed') return undefined;
  const { request_id: failed, reason, detail, time } = entry;
  if (typeof failed !== 'string' || typeof reason !== 'string') return undefined;
  return { failed, reason, detail: typeof detail === 'string' ? detail : '', at: Date.parse(String(time)) };
}

/**
 * The events of several logs, in the order of their times. Those of one log keep their order, and one without a time
 * stays behind the one before it.
 */
export async function* merged(logs: readonly AsyncGenerator<LogEvent>[]): AsyncGenerator<LogEvent> {
  const [only, ...others] = logs;
  if (only !== undefined && others.length === 0) {
    yield* only;
    return;
  }
  const heads: { readonly log: AsyncGenerator<LogEvent>; event: LogEvent; at: number }[] = [];
  for (const log of logs) {
    const { done, value } = await log.next();
    if (done !== true) heads.push({ log, event: value, at: latest(-Infinity, value) });
  }
  while (heads.length > 0) {
    const earliest = heads.reduce((one, other) => (other.at < one.at ? other : one));
    yield earliest.event;
    const { done, value } = await earliest.log.next();
    if (done === true) {
      heads.splice(heads.indexOf(earliest), 1);
      continue;
    }
    earliest.event = value;
    earliest.at = latest(earliest.at, value);
  }
}

function latest(before: number, event: LogEvent): number {
  return 'at' in event && event.at > before ? event.at : before;
}

/** The time of a decision, RFC 3339; empty if the line has none. */
export function timeOf({ at }: Pick<DecisionRecord, 'at'>): string {
  return Number.isNaN(at) ? '' : new Date(at).toISOString();
}

/** How often a file is looked at: network file systems and mounts of containers send no events. */
const POLL_MS = 250;

/** A longer line is not read: the gateway writes none, and a file without newlines must not fill the memory. */
const MAX_LINE_BYTES = 1024 * 1024;

/**
 * The lines of a file; `-` reads stdin; undefined for a line of more than 1 MiB. Node's `readline` would also split at
 * U+2028, which JSON may hold. The log would then lack each caller that has one in the name.
 *
 * @throws the system's error if the file cannot be read.
 */
export async function* linesOf(file: string): AsyncGenerator<string | undefined> {
  const splitter = new LineSplitter();
  const input = file === '-' ? process.stdin : createReadStream(file);
  for await (const bytes of input as AsyncIterable<Buffer>) yield* splitter.lines(bytes);
  yield* splitter.end();
}

/** Takes the {@link linesOf} a file, in a fraction of the time where there are a million. */
export async function eachLine(file: string, take: (line: string | undefined) => void): Promise<void> {
  const splitter = new LineSplitter();
  const input = file === '-' ? process.stdin : createReadStream(file, { highWaterMark: MAX_LINE_BYTES });
  for await (const bytes of input as AsyncIterable<Buffer>) for (const line of splitter.lines(bytes)) take(line);
  for (const line of splitter.end()) take(line);
}

/**
 * The lines of a file, and those that are appended to it, without end; undefined for a line of more than 1 MiB. After
 * the file was replaced by another one of the same name, or cut to a shorter one, it goes on with the new content.
 *
 * @throws the system's error if the file cannot be read.
 */
async function* followedLines(path: string): AsyncGenerator<string | undefined> {
  for (;;) {
    const file = await open(path);
    try {
      yield* linesUntilReplaced(path, file);
    } finally {
      await file.close();
    }
  }
}

/** The lines of an open file until another file has its path. */
async function* linesUntilReplaced(path: string, file: FileHandle): AsyncGenerator<string | undefined> {
  const buffer = Buffer.alloc(64 * 1024);
  let splitter = new LineSplitter();
  let position = 0;
  let isReplaced = false;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    position += bytesRead;
    yield* splitter.lines(buffer.subarray(0, bytesRead));
    if (bytesRead > 0) continue;
    // A writer may use the old file for a moment after the new one is there.
    if (isReplaced) break;
    await setTimeout(POLL_MS);
    isReplaced = await hasReplacement(path, file);
    if ((await file.stat()).size >= position) continue;
    splitter = new LineSplitter();
    position = 0;
  }
  yield* splitter.end();
}

const NEWLINE = 0x0a;

/** Splits bytes into lines. */
class LineSplitter {
  /** The beginning of the line that is open. */
  readonly #open = new Gatherer(MAX_LINE_BYTES);
  #isTooLong = false;

  /** The lines that end in these bytes, which may be reused afterwards; undefined for one that is too long. */
  *lines(bytes: Buffer): Generator<string | undefined> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      yield this.#line(bytes.subarray(start, end));
      start = end + 1;
    }
    this.#add(Buffer.from(bytes.subarray(start)));
  }

  /** The last line, if no newline ends it. */
  *end(): Generator<string | undefined> {
    if (this.#isTooLong || this.#open.length > 0) yield this.#line(Buffer.alloc(0));
  }

  #add(part: Buffer): void {
    this.#isTooLong ||= this.#open.length + part.length > MAX_LINE_BYTES;
    if (this.#isTooLong) this.#open.clear();
    else this.#open.push(part);
  }

  #line(last: Buffer): string | undefined {
    // Most lines are whole.
    if (this.#open.length === 0 && !this.#isTooLong && last.length <= MAX_LINE_BYTES) return last.toString();
    this.#add(last);
    const line = this.#isTooLong ? undefined : this.#open.take().toString();
    this.#isTooLong = false;
    return line;
  }
}

async function hasReplacement(path: string, file: FileHandle): Promise<boolean> {
  const [own, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return there !== undefined && (there.ino !== own.ino || there.dev !== own.dev);
}
