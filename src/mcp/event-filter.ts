import { Gatherer } from '../core/lib/gatherer.ts';
import { utf8Text } from './utf8.ts';
import { Denial } from '../core/model/denial.ts';
import { UnreadAnswer } from './unread-answer.ts';
import type { BodyFilter } from '../core/gateway/forward/answer-messages.ts';
import { MAX_READ_BYTES, OPEN_BRACE, type Rewriting, withoutBom } from './body-filter.ts';

const [LF, CR] = [0x0a, 0x0d];
const eventEnd = Buffer.from('\n\n');

/**
 * The filter for an event stream: it sends each event once the event is complete, and events that stay as they are in
 * one piece. If everything must be read, it drops an event that is too long to be held, and one that a client may take
 * for a message although the gateway cannot read it. An event that is too long passes if it proves to be an answer that
 * need not be read.
 */
export class EventFilter implements BodyFilter {
  readonly #rewriting: Rewriting;
  readonly #isAnswer: ((text: string) => boolean) | undefined;
  readonly #unreadId: string | number | undefined;
  readonly #scanner = new EventScanner();
  readonly #lineEnds = new LineEnds();
  /** The event that is not complete yet. */
  readonly #held = new Gatherer(MAX_READ_BYTES);
  /** Whether the event that is not complete yet is too long to be held. */
  #isTooLong = false;
  /** The event that is too long, as long as it may pass unread. */
  #unread: UnreadAnswer | undefined;
  #isFirst = true;
  /** Whether the last event was changed, and with it the rest of its line end. */
  #isLastReplaced = false;
  /** Whether an event was dropped that may have been the answer. */
  #isAnswerDropped = false;

  /**
   * @param isAnswer Whether a message answers the request of the stream; undefined if the stream answers none.
   * @param unreadId The id of that request, if its answer need not be read.
   */
  constructor(rewriting: Rewriting, isAnswer?: (text: string) => boolean, unreadId?: string | number) {
    this.#rewriting = rewriting;
    this.#isAnswer = isAnswer;
    this.#unreadId = unreadId;
  }

  push(received: Buffer): readonly Buffer[] {
    const chunk = this.#rewriting.mustRead ? this.#lineEnds.withoutReturns(received) : received;
    // Most chunks are complete events with nothing to change.
    if (this.#isBetween() && endsEvent(chunk) && !this.#rewriting.concerns(chunk)) {
      this.#scanner.restart();
      this.#isFirst = false;
      return [chunk];
    }
    const sent: Buffer[] = [];
    const ends = this.#scanner.in(chunk);
    const braces = new ByteFinder(chunk, OPEN_BRACE);
    let start = this.#isBetween() ? ends.restOfLineEnd() : 0;
    /** Where the bytes begin that pass as they came. */
    let passing = this.#isLastReplaced ? start : 0;
    for (let end = ends.next(start); end !== -1; end = ends.next(start)) {
      // No client takes an event without a brace for a message.
      const mayStay = this.#isBetween() && braces.from(start) >= end;
      const isFirst = this.#isFirst;
      this.#isFirst = false;
      this.#isLastReplaced = false;
      if (!mayStay) {
        const changed = this.#completed(chunk.subarray(start, end), isFirst);
        if (changed !== undefined) {
          if (start > passing) sent.push(chunk.subarray(passing, start));
          sent.push(...changed);
          passing = end;
        }
      }
      start = end;
    }
    if (start > passing) sent.push(chunk.subarray(passing, start));
    sent.push(...this.#hold(chunk.subarray(start)));
    return sent;
  }

  /**
   * WHATWG HTML §9.2.6: clients ignore an event without its end, so that it may pass.
   *
   * @throws {Denial} `upstream.invalid` if the answer to the request of the stream was dropped.
   */
  end(): readonly Buffer[] {
    const rest = this.#held.take();
    if (!this.#rewriting.mustRead) return rest.length === 0 ? [] : [rest];
    if (this.#isAnswerDropped || rest.includes(OPEN_BRACE)) this.#requireNoAnswer();
    return [];
  }

  #requireNoAnswer(): void {
    if (this.#isAnswer === undefined) return;
    throw new Denial(
      'upstream.invalid',
      `a message that must be read has more than ${MAX_READ_BYTES} bytes, no end, or is not JSON in UTF-8`,
    );
  }

  #isBetween(): boolean {
    return this.#held.length === 0 && !this.#isTooLong;
  }

  /** The bytes in the place of the rest of an event; undefined if they pass as they came. */
  #completed(rest: Buffer, isFirst: boolean): readonly Buffer[] | undefined {
    const { mustRead } = this.#rewriting;
    const before = this.#held.length;
    if (this.#isTooLong || before + rest.length > MAX_READ_BYTES) {
      const passed = this.#hold(rest);
      this.#isTooLong = false;
      if (this.#unread?.isComplete === true) this.#isAnswerDropped = false;
      this.#unread = undefined;
      return passed;
    }
    let event = rest;
    if (before > 0) {
      this.#held.push(rest);
      event = this.#held.take();
    }
    const changed =
      event.includes(OPEN_BRACE) && this.#rewriting.concerns(event) ? this.#rewritten(event, isFirst) : event;
    if (changed === undefined) {
      if (!mustRead) return [event];
      this.#isAnswerDropped = true;
      return [];
    }
    this.#isLastReplaced = changed !== event;
    return changed === event && before === 0 ? undefined : [changed];
  }

  /** Holds a part of an event. Returns what cannot be held, and need not be read. */
  #hold(part: Buffer): readonly Buffer[] {
    if (!this.#isTooLong && this.#held.length + part.length <= MAX_READ_BYTES) {
      this.#held.push(part);
      return [];
    }
    if (!this.#isTooLong && this.#unreadId !== undefined) this.#unread = new UnreadAnswer(this.#unreadId);
    this.#isTooLong = true;
    const parts = [this.#held.take(), part].filter(({ length }) => length > 0);
    if (!this.#rewriting.mustRead) return parts;
    this.#isAnswerDropped = true;
    return this.#passedUnread(parts);
  }

  /** The parts of an event that is too long which may pass unread. */
  #passedUnread(parts: readonly Buffer[]): readonly Buffer[] {
    const passed: Buffer[] = [];
    for (const part of parts) {
      const bytes = this.#unread?.pass(part);
      if (bytes === undefined) return [...passed, ...this.#brokenOff()];
      passed.push(bytes);
    }
    return passed;
  }

  /** The end of an event that passed in part. Its JSON is incomplete, and the refusal can follow. */
  #brokenOff(): readonly Buffer[] {
    const wasPassed = this.#unread?.hasBegun === true;
    this.#unread = undefined;
    this.#isAnswerDropped = true;
    return wasPassed ? [eventEnd] : [];
  }

  /** The event as it may pass; undefined if it cannot be read. */
  #rewritten(event: Buffer, isFirst: boolean): Buffer | undefined {
    const { mustRead } = this.#rewriting;
    const received = utf8Text(event);
    if (received === undefined) return undefined;
    // A stream may begin with a BOM, which its reader drops.
    const text = isFirst ? withoutBom(received) : received;
    if (mustRead && mayHideData(text)) return undefined;
    const data = eventData(text);
    if (data === '' || isEndpoint(text, data)) return event;
    const message = withoutBom(mustRead ? withoutOtherLineEnds(data) : data);
    const changed = this.#changed(message);
    if (changed === null) return undefined;
    if (this.#isAnswerDropped && this.#isAnswer?.(message) === true) this.#isAnswerDropped = false;
    if (changed !== undefined) return Buffer.from(withData(text, changed));
    return mustRead && otherLineEnd.test(data) ? Buffer.from(withData(text, message)) : event;
  }

  /** The changed text of a message; undefined where nothing changes, null for text that is not JSON. */
  #changed(message: string): string | undefined | null {
    try {
      return this.#rewriting.rewrite(message);
    } catch (error) {
      if (error instanceof SyntaxError) return null;
      throw error;
    }
  }
}

/**
 * Characters that JSON has only in strings, where an escape is the same text. They end a line for readers that split
 * text as Python's `splitlines` does (`httpx-sse` before 0.4.2), which would see another event.
 */
function withoutOtherLineEnds(json: string): string {
  // A pattern and a function would take seven times as long where an upstream sends a million.
  return json
    .replaceAll('\u0085', String.raw`\u0085`)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);
}

/** Those characters, and the control characters at which `splitlines` splits too, which JSON does not have. */
// oxlint-disable-next-line no-control-regex -- these are what it is about
const otherLineEnd = /[\v\f\x1c-\x1e\u0085\u2028\u2029]/;
/**
 * A line that a lenient reader may take for data, such as one that trims lines or ignores case. eventsource-parser, in
 * the SDK of MCP for TypeScript, drops the characters U+00EF, U+00BB, U+00BF before the first line.
 */
const disguisedData = /^[^!-~]*data[^!-~]*:/iu;

/** Whether another reader may find data outside the lines of data. */
function mayHideData(event: string): boolean {
  return linesOf(event).some((line) => !isData(line) && (otherLineEnd.test(line) || disguisedData.test(line)));
}

/** HTTP+SSE of 2024-11-05: the first event of a stream names the URL for messages, and holds none. */
function isEndpoint(event: string, data: string): boolean {
  return /^(?:\/|https?:\/\/)[!-~]*$/.test(data) && /^event: ?endpoint\r?$/m.test(event);
}

/** Finds a byte at growing places of a chunk, each byte of which it looks at once. */
class ByteFinder {
  readonly #chunk: Buffer;
  readonly #byte: number;
  #next = -1;

  constructor(chunk: Buffer, byte: number) {
    this.#chunk = chunk;
    this.#byte = byte;
  }

  /** The first place from `start` on; Infinity if there is none. */
  from(start: number): number {
    if (this.#next < start) {
      const found = this.#chunk.indexOf(this.#byte, start);
      this.#next = found === -1 ? Infinity : found;
    }
    return this.#next;
  }
}

/**
 * Makes LF of each line end CR of a stream, at once. A reader that knows only LF, such as the SDK of MCP for Go, takes
 * the lines behind a CR for data of the line before it.
 */
class LineEnds {
  #isAfterReturn = false;

  /** The next chunk, with LF in the place of each CR. CRLF stays where it is in one chunk, and becomes LF elsewhere. */
  withoutReturns(received: Buffer): Buffer {
    const chunk = this.#isAfterReturn && received[0] === LF ? received.subarray(1) : received;
    if (received.length > 0) this.#isAfterReturn = received.at(-1) === CR;
    let changed = chunk;
    for (let at = chunk.indexOf(CR); at !== -1 && at < chunk.length; at += 1) {
      if (chunk[at] !== CR || chunk[at + 1] === LF) continue;
      if (changed === chunk) changed = Buffer.from(chunk);
      changed[at] = LF;
    }
    return changed;
  }
}

/** The events that end in one chunk. */
interface EventEnds {
  /** The place behind the next event that ends, where the one before it ended at `start`; -1 if none ends. */
  next(start: number): number;
  /** Between events: the length of what belongs to the line end of the last chunk, 0 or 1. */
  restOfLineEnd(): number;
}

/**
 * Finds where the events of a stream end (WHATWG HTML §9.2): at an empty line. An event ends with its last CR, and an
 * LF that may follow is the rest of that line end: to wait for it would hold the event back.
 */
export class EventScanner {
  #isLineEmpty = true;
  #isAfterReturn = false;

  /** Begins again between two events, after a LF. */
  restart(): void {
    this.#isLineEmpty = true;
    this.#isAfterReturn = false;
  }

  in(chunk: Buffer): EventEnds {
    const feeds = new ByteFinder(chunk, LF);
    const returns = new ByteFinder(chunk, CR);
    return {
      restOfLineEnd: () => {
        const rest = this.#isAfterReturn && chunk[0] === LF ? 1 : 0;
        if (rest === 1) this.#isAfterReturn = false;
        return rest;
      },
      next: (start) => {
        for (let at = start; at < chunk.length;) {
          const byte = chunk[at];
          if (byte !== LF && byte !== CR) {
            this.#isLineEmpty = false;
            this.#isAfterReturn = false;
            at = Math.min(feeds.from(at), returns.from(at));
            continue;
          }
          at += 1;
          if (byte === LF && this.#isAfterReturn) {
            this.#isAfterReturn = false;
            continue;
          }
          this.#isAfterReturn = byte === CR;
          if (this.#isLineEmpty) {
            if (!this.#isAfterReturn || chunk[at] !== LF) return at;
            this.#isAfterReturn = false;
            return at + 1;
          }
          this.#isLineEmpty = true;
        }
        return -1;
      },
    };
  }
}

/** Whether a chunk ends with an event. May be false for one that does, but not for one that does not. */
export function endsEvent(chunk: Buffer): boolean {
  const { length } = chunk;
  if (chunk[length - 1] !== LF) return false;
  return chunk[length - 2] === LF || (chunk[length - 2] === CR && chunk[length - 3] === LF);
}

function linesOf(event: string): readonly string[] {
  return event.split(/\r\n|\n|\r/);
}

function isData(line: string): boolean {
  return line === 'data' || line.startsWith('data:');
}

/** The data of one event, its lines joined; `''` without data. */
export function eventData(event: string): string {
  const lines = linesOf(event).filter(isData);
  return lines.map((line) => line.slice(line[5] === ' ' ? 'data: '.length : 'data:'.length)).join('\n');
}

/** The same event with other data. Its id, type and retry time stay. */
export function withData(event: string, data: string): string {
  const others = linesOf(event).filter((line) => line !== '' && !isData(line));
  return `${[...others, ...linesOf(data).map((line) => `data: ${line}`)].join('\n')}\n\n`;
}
