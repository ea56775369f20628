import { Denial } from '../model/denial.ts';
import { createEventSplitter, endsEvent, eventData, withData } from './event-stream.ts';

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

/** A longer body or event is not read, since the gateway would have to hold all of it. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Creates the filter for an `application/json` body: one message, which is read at its end. */
export function createJsonFilter(rewriting: Rewriting): BodyFilter {
  let held: Buffer[] = [];
  let bytes = 0;
  return {
    push(chunk) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES && rewriting.mustRead) throw new RangeError(`a message of more than ${MAX_BYTES} bytes`);
      held.push(chunk);
      return bytes > MAX_BYTES ? release() : [];
    },
    end() {
      if (bytes === 0 || bytes > MAX_BYTES) return [];
      const chunks = release();
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
      const changed = rewriting.concerns(body) ? rewriting.rewrite(body.toString()) : undefined;
      return [changed === undefined ? body : Buffer.from(changed)];
    },
  };

  function release(): Buffer[] {
    const released = held;
    held = [];
    return released;
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

/** Creates the filter for an event stream: it sends each event once the event is complete. */
export function createEventFilter(rewriting: Rewriting): BodyFilter {
  const splitter = createEventSplitter(rewriting.mustRead ? MAX_BYTES : Infinity);
  return {
    push(chunk) {
      // Most chunks are complete events with nothing to change.
      if (splitter.held() === 0 && endsEvent(chunk) && !rewriting.concerns(chunk)) return [chunk];
      const events = splitter.push(chunk).map((event) => rewritten(event, rewriting));
      return splitter.held() > MAX_BYTES ? [...events, splitter.release()] : events;
    },
    // WHATWG HTML §9.2.6: clients ignore an event without its end, so that it may pass.
    end: () => (rewriting.mustRead || splitter.held() === 0 ? [] : [splitter.release()]),
  };
}

function rewritten(event: Buffer, rewriting: Rewriting): Buffer {
  if (!rewriting.concerns(event)) return event;
  // A stream may begin with a BOM, which its reader drops.
  const received = event.toString().replace(/^\uFEFF/, '');
  const text = rewriting.mustRead ? received.replace(otherLineEnds, escaped) : received;
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

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** HTTP+SSE of 2024-11-05: the first event of a stream names the URL for messages, and holds none. */
function isEndpoint(event: string, data: string): boolean {
  return /^(?:\/|https?:\/\/)[!-~]*$/.test(data) && /^event: ?endpoint\r?$/m.test(event);
}
