import { createReadStream } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { Gatherer } from '../core/lib/gatherer.ts';
import { isObject } from '../core/lib/json/own-member.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import { counted } from '../core/lib/wording.ts';
import type { DecisionRecord } from '../core/model/decision.ts';
import { recordedDecision } from '../analysis/review/recorded-decision.ts';
import { unreadable } from './terminal.ts';

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
  readonly requestId: string;
  readonly reason: string;
  readonly detail: string;
}

/**
 * Why a line is skipped. `unreadable`: a decision that was cut off, or that has members of other types than the gateway
 * writes.
 */
type Skipped = 'no decision' | 'unreadable' | 'too long';

/** Reads decision logs, one JSON object a line, and counts the lines that it skips. */
export class LogReader {
  readonly #skipped = { 'no decision': 0, unreadable: 0, 'too long': 0 };
  readonly #onSkipped: (why: Skipped) => void;
  readonly #onFailure: ((failure: RequestFailure) => void) | undefined;

  /** @param onFailure Gets each failure, after the decision on the request. */
  constructor(onSkipped: (why: Skipped) => void = () => {}, onFailure?: (failure: RequestFailure) => void) {
    this.#onSkipped = onSkipped;
    this.#onFailure = onFailure;
  }

  /**
   * The decisions of a log, and which calls were settled.
   *
   * @param file `-` reads stdin.
   * @param follow Whether to wait for more lines at the end of the file.
   * @throws {Failure} if the file cannot be read.
   */
  async *records(file: string, follow = false): AsyncGenerator<LoggedDecision | SettledCall> {
    try {
      for await (const line of follow && file !== '-' ? followedLines(file) : linesOf(file)) {
        const record = line === undefined ? 'too long' : recordIn(line);
        const failure = this.#onFailure && line !== undefined ? failureIn(line) : undefined;
        if (failure !== undefined) this.#onFailure?.(failure);
        else if (typeof record === 'string') this.#skip(record);
        else if (record !== undefined) yield record;
      }
    } catch (error) {
      throw unreadable(file, error);
    }
  }

  /** {@link records}, without those of settled calls. */
  async *decisions(file: string, follow = false): AsyncGenerator<LoggedDecision> {
    for await (const record of this.records(file, follow)) {
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

function recordIn(line: string): LoggedDecision | SettledCall | Skipped | undefined {
  if (line.trim() === '') return undefined;
  // Log collectors put a timestamp or a container's name before the line.
  const start = line.indexOf('{');
  if (start === -1 || !line.includes('"decision"')) return 'no decision';
  const entry = parsedJson(line.slice(start));
  if (!isObject(entry)) return /"msg": ?"decision"/.test(line) ? 'unreadable' : 'no decision';
  const { msg, decision } = entry;
  if (msg === 'settled') return typeof decision === 'string' ? { settled: decision } : 'unreadable';
  if (msg !== 'decision') return 'no decision';
  const record = recordedDecision(entry);
  return record === undefined ? 'unreadable' : { ...record, entry };
}

function failureIn(line: string): RequestFailure | undefined {
  if (!line.includes('"request failed"')) return undefined;
  const entry = parsedJson(line.slice(line.indexOf('{')));
  if (!isObject(entry) || entry['msg'] !== 'request failed') return undefined;
  const { request_id: requestId, reason, detail } = entry;
  if (typeof requestId !== 'string' || typeof reason !== 'string') return undefined;
  return { requestId, reason, detail: typeof detail === 'string' ? detail : '' };
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
