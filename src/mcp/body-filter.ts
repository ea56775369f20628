import { jsonEscapes } from '../lib/wording.ts';
import { Denial } from '../model/denial.ts';
import type { Action } from '../model/grant.ts';

/** Changes the body of an answer on its way to the client. If a method throws, the answer ends there. */
export interface BodyFilter {
  /**
   * Reads the next chunk, or undefined for the end, before the filter takes it. The filter must not take it until the
   * promise is fulfilled. Default: nothing is needed.
   */
  readonly prepare?: (chunk: Buffer | undefined) => Promise<void> | undefined;
  /** Takes the next chunk; returns what can be sent now, which may be nothing. */
  push(chunk: Buffer): readonly Buffer[];
  /** Returns what remains to be sent at the end of the body. */
  end(): readonly Buffer[];
}

/** A change of the messages in an answer. */
export interface Rewriting {
  /** Whether a message, or bytes with several, may hold something to change. Other bytes are not even decoded. */
  concerns(part: Buffer | string): boolean;
  /** The changed text of a message that it concerns; undefined where nothing changes. May throw for unreadable text. */
  rewrite(text: string): string | undefined;
  /** Whether everything must be read. A message that is too long or has no end is not sent then. */
  readonly mustRead: boolean;
}

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20];
/** A longer body or event is not read, since the gateway would have to hold all of it. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The filter for an `application/json` body: one message, which is read at its end. */
export class JsonFilter implements BodyFilter {
  readonly #rewriting: Rewriting;
  readonly #held: Buffer[] = [];
  #bytes = 0;

  constructor(rewriting: Rewriting) {
    this.#rewriting = rewriting;
  }

  push(chunk: Buffer): readonly Buffer[] {
    this.#bytes += chunk.length;
    this.#held.push(chunk);
    if (this.#bytes <= MAX_BYTES) return [];
    if (this.#rewriting.mustRead) throw new RangeError(`a message of more than ${MAX_BYTES} bytes`);
    return this.#held.splice(0);
  }

  end(): readonly Buffer[] {
    if (this.#bytes === 0 || this.#bytes > MAX_BYTES) return [];
    const chunks = this.#held.splice(0);
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, this.#bytes);
    const changed = this.#rewriting.concerns(body) ? this.#rewriting.rewrite(body.toString()) : undefined;
    return [changed === undefined ? body : Buffer.from(changed)];
  }
}

/**
 * Creates the filter for a body that must be read and cannot be. An empty body passes.
 *
 * @returns a filter that throws {Denial} `upstream.invalid` at the first byte.
 */
export function createUnreadableFilter(): BodyFilter {
  return {
    push() {
      throw new Denial(
        'upstream.invalid',
        'a result that must be read is compressed, or neither JSON nor an event stream',
      );
    },
    end: () => [],
  };
}

/** Creates the filter that drops a body, for answers that have nothing to say. */
export function createDroppingFilter(): BodyFilter {
  return { push: () => [], end: () => [] };
}

/** The filter for an event stream: it sends each event once the event is complete. */
export class EventFilter implements BodyFilter {
  readonly #rewriting: Rewriting;
  readonly #splitter: EventSplitter;

  constructor(rewriting: Rewriting) {
    this.#rewriting = rewriting;
    this.#splitter = new EventSplitter(rewriting.mustRead ? MAX_BYTES : Infinity);
  }

  push(chunk: Buffer): readonly Buffer[] {
    const rewriting = this.#rewriting;
    const splitter = this.#splitter;
    // Most chunks are complete events with nothing to change.
    if (splitter.heldBytes === 0 && endsEvent(chunk) && !rewriting.concerns(chunk)) return [chunk];
    const events = splitter.push(chunk).map((event) => rewritten(event, rewriting));
    return splitter.heldBytes > MAX_BYTES ? [...events, splitter.release()] : events;
  }

  /** WHATWG HTML §9.2.6: clients ignore an event without its end, so that it may pass. */
  end(): readonly Buffer[] {
    return this.#rewriting.mustRead || this.#splitter.heldBytes === 0 ? [] : [this.#splitter.release()];
  }
}

function rewritten(event: Buffer, rewriting: Rewriting): Buffer {
  if (!rewriting.concerns(event)) return event;
  // A stream may begin with a BOM, which its reader drops.
  const received = event.toString().replace(/^\uFEFF/, '');
  const text = rewriting.mustRead ? received.replace(otherLineEnds, jsonEscapes) : received;
  const same = text === received ? event : Buffer.from(text);
  const data = eventData(text);
  if (data === '' || isEndpoint(text, data)) return same;
  const changed = rewriting.rewrite(data);
  return changed === undefined ? same : Buffer.from(withData(text, changed));
}

/**
 * Characters that JSON has only in strings, where an escape is the same text. Some also end a line for readers that
 * split text as Python's `splitlines` does (`httpx-sse` before 0.4.2): they would see another event.
 */
const otherLineEnds = /[^\P{Cc}\t\n\r]|[\u2028\u2029]/gu;

/** HTTP+SSE of 2024-11-05: the first event of a stream names the URL for messages, and holds none. */
function isEndpoint(event: string, data: string): boolean {
  return /^(?:\/|https?:\/\/)[!-~]*$/.test(data) && /^event: ?endpoint\r?$/m.test(event);
}

/** The end of an event: two line ends in a row, of any of the three kinds. */
const eventEnd = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g;

/**
 * Cuts an event stream (WHATWG HTML §9.2) into complete events, each with the empty line that ends it, byte for byte.
 */
export class EventSplitter {
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The last characters that are held, the only ones to search again: the end of the event may begin in them. */
  #tail = '';

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The number of bytes of the event that is not complete yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The events that `chunk` completes. @throws {RangeError} for an event of more than `maxBytes`. */
  push(chunk: Buffer): readonly Buffer[] {
    const text = this.#tail + chunk.toString('latin1');
    const before = this.#tail.length;
    const events: Buffer[] = [];
    let start = 0;
    let searched = 0;
    eventEnd.lastIndex = 0;
    for (;;) {
      const end = eventEnd.exec(text);
      // A CR at the end of the text may be half of a line end.
      if (end === null || (eventEnd.lastIndex === text.length && text.endsWith('\r'))) break;
      searched = eventEnd.lastIndex;
      events.push(this.#take(chunk.subarray(start, searched - before)));
      start = searched - before;
    }
    const rest = chunk.subarray(start);
    this.#held.push(rest);
    this.#heldBytes += rest.length;
    this.#tail = text.slice(Math.max(searched, text.length - 3));
    if (this.#heldBytes > this.#maxBytes) throw new RangeError(`an event of more than ${this.#maxBytes} bytes`);
    return events;
  }

  /** Returns the bytes of the incomplete event, as they are. */
  release(): Buffer {
    this.#tail = '';
    return this.#take(Buffer.alloc(0));
  }

  #take(last: Buffer): Buffer {
    const event = this.#heldBytes === 0 ? last : Buffer.concat([...this.#held, last]);
    this.#held = [];
    this.#heldBytes = 0;
    return event;
  }
}

/** Whether a chunk ends with an event. May be false for one that does, but not for one that does not. */
export function endsEvent(chunk: Buffer): boolean {
  const { length } = chunk;
  if (chunk[length - 1] !== LF) return false;
  return chunk[length - 2] === LF || (chunk[length - 2] === CR && chunk[length - 3] === LF);
}

/** The data of one event, its lines joined; `''` without data. */
export function eventData(event: string): string {
  const lines = event.split(/\r\n|\n|\r/).flatMap((line) => {
    if (line === 'data') return [''];
    return line.startsWith('data:') ? [line.slice('data:'.length).replace(/^ /, '')] : [];
  });
  return lines.join('\n');
}

/** The same event with other data. Its id, type and retry time stay. */
export function withData(event: string, data: string): string {
  const others = event
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '' && line !== 'data' && !line.startsWith('data:'));
  return `${[...others, ...data.split(/\r\n|\n|\r/).map((line) => `data: ${line}`)].join('\n')}\n\n`;
}

const subscriptionId = 'io.modelcontextprotocol/subscriptionId';

/**
 * The event that ends a subscription as its server would (MCP 2026-07-28, `SubscriptionsListenResult`), so that the
 * client knows that the subscription is over and not interrupted; undefined for any other stream. Streams of legacy
 * revisions have no such event, and clients connect again.
 */
export function subscriptionEnd({ attempt, era, messageId }: Action): string | undefined {
  if (era !== 'modern' || attempt.kind !== 'mcp' || attempt.method.target !== 'subscriptions') return undefined;
  const result = { resultType: 'complete', _meta: { [subscriptionId]: messageId } };
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: messageId, result })}\n\n`;
}

/** A longer id fits in no header section, so that no client could present it. */
const MAX_ID_BYTES = 4096;

const BOM = Buffer.from('\uFEFF');
const FIELD = Buffer.from('id:');
/** The beginnings of the field, which the next chunk may complete. */
const BEGINNINGS = [Buffer.from('id'), Buffer.from('i')];
const NOTHING = Buffer.alloc(0);

/** The ids that a header can carry. Clients ignore an id with a NUL (WHATWG HTML §9.2.6); an empty one resets. */
const carried = /^[\t\x20-\x7e\x80-\xff]+$/;

/**
 * The filter that changes the ids of an event stream (WHATWG HTML §9.2) and leaves every other byte. It holds back only
 * the beginning of a line that may be an id, so that an event passes while the upstream is still writing it.
 */
export class EventIdFilter implements BodyFilter {
  readonly #bind: (id: string) => string;
  #held: Buffer = NOTHING;
  #begun = false;
  #atLineStart = true;

  /** @param bind The client's id for an id of the server; both in latin1, as in a header. */
  constructor(bind: (id: string) => string) {
    this.#bind = bind;
  }

  push(chunk: Buffer): readonly Buffer[] {
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = NOTHING;
    const pieces: Buffer[] = [];
    if (!this.#begun) {
      // A stream may begin with a BOM, which its reader drops.
      if (bytes.length < BOM.length && BOM.subarray(0, bytes.length).equals(bytes)) {
        this.#held = bytes;
        return [];
      }
      this.#begun = true;
      if (bytes.subarray(0, BOM.length).equals(BOM)) {
        pieces.push(BOM);
        bytes = bytes.subarray(BOM.length);
      }
    }
    let copied = 0;
    let end = bytes.length;
    for (let at = bytes.indexOf(FIELD); at !== -1; at = bytes.indexOf(FIELD, at + 1)) {
      if (!this.#beginsLine(bytes, at)) continue;
      const lineEnds = lineEnd(bytes, at);
      if (lineEnds === -1 && bytes.length - at >= MAX_ID_BYTES) continue;
      if (lineEnds === -1) {
        end = at;
        break;
      }
      const value = at + FIELD.length + (bytes[at + FIELD.length] === SPACE ? 1 : 0);
      const id = bytes.toString('latin1', value, lineEnds);
      if (!carried.test(id)) continue;
      pieces.push(bytes.subarray(copied, value), Buffer.from(this.#bind(id), 'latin1'));
      copied = lineEnds;
    }
    if (end === bytes.length) end = this.#unfinished(bytes);
    this.#held = end === bytes.length ? NOTHING : bytes.subarray(end);
    this.#atLineStart = this.#beginsLine(bytes, end);
    if (end > copied) pieces.push(bytes.subarray(copied, end));
    return pieces.length > 1 ? [Buffer.concat(pieces)] : pieces;
  }

  end(): readonly Buffer[] {
    return this.#held.length === 0 ? [] : [this.#held];
  }

  #beginsLine(bytes: Buffer, at: number): boolean {
    return at === 0 ? this.#atLineStart : bytes[at - 1] === LF || bytes[at - 1] === CR;
  }

  /** Where an incomplete id may begin; the length of `bytes` where none does. */
  #unfinished(bytes: Buffer): number {
    for (const beginning of BEGINNINGS) {
      const at = bytes.length - beginning.length;
      if (this.#beginsLine(bytes, at) && bytes.subarray(at).equals(beginning)) return at;
    }
    return bytes.length;
  }
}

/** The end of the line that begins at `start`, or -1. */
function lineEnd(bytes: Buffer, start: number): number {
  const limit = Math.min(bytes.length, start + MAX_ID_BYTES);
  for (let at = start; at < limit; at += 1) if (bytes[at] === LF || bytes[at] === CR) return at;
  return -1;
}
