import { createEventSplitter, eventData, withData } from './event-stream.ts';
import type { McpTarget } from '../model/policy.ts';
import { filteredMessage } from './lists.ts';

/** Changes an answer's body on its way. Both may throw: then the answer is broken off. */
export interface BodyFilter {
  /** What goes on now that `chunk` has come; perhaps nothing. */
  push(chunk: Buffer): readonly Buffer[];
  /** What goes on at the end. */
  end(): readonly Buffer[];
}

/** A list, or one event, that is longer is broken off: a filter must hold it whole. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Creates the filter of a list in an `application/json` body: one message, read at its end. */
export function createJsonListFilter(visible: (target: McpTarget) => boolean): BodyFilter {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    push(chunk) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) throw new RangeError(`a list of more than ${MAX_BYTES} bytes`);
      chunks.push(chunk);
      return [];
    },
    end() {
      const body = Buffer.concat(chunks, bytes);
      if (bytes === 0) return [];
      const filtered = filteredMessage(body.toString(), visible);
      return [filtered === undefined ? body : Buffer.from(filtered)];
    },
  };
}

/** Creates the filter of lists in an event stream: each event goes on when it is whole, and only a list is changed. */
export function createEventListFilter(visible: (target: McpTarget) => boolean): BodyFilter {
  const splitter = createEventSplitter(MAX_BYTES);
  return {
    push: (chunk) => splitter.push(chunk).map((event) => filteredEvent(event, visible)),
    // WHATWG HTML §9.2.6: an event without its end is none; and nobody has filtered it.
    end: () => [],
  };
}

function filteredEvent(event: Buffer, visible: (target: McpTarget) => boolean): Buffer {
  const text = event.toString();
  const data = eventData(text);
  if (data === undefined || data === '') return event;
  const filtered = filteredMessage(data, visible);
  return filtered === undefined ? event : Buffer.from(withData(text, filtered));
}
