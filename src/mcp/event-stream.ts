/**
 * Cuts an event stream (WHATWG HTML §9.2) into whole events, each with the empty line that ends it, byte for byte.
 */
export interface EventSplitter {
  /** The events that `chunk` completes. */
  push(chunk: Buffer): readonly Buffer[];
  /** The bytes of an event that has no end yet. */
  held(): number;
  /** Hands out what is held, as it is. */
  release(): Buffer;
}

/** The end of an event: two line ends in a row, of any of the three kinds. */
const eventEnd = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g;

/** @throws {RangeError} from `push` for an event of more than `maxBytes`. */
export function createEventSplitter(maxBytes: number): EventSplitter {
  let held = '';
  return {
    push(chunk) {
      // An end may have begun in what was searched already.
      eventEnd.lastIndex = Math.max(0, held.length - 3);
      held += chunk.toString('latin1');
      const events: Buffer[] = [];
      for (;;) {
        const end = eventEnd.exec(held);
        // A CR at the very end may be half of a line end.
        if (end === null || (end.index + end[0].length === held.length && held.endsWith('\r'))) break;
        const length = end.index + end[0].length;
        events.push(Buffer.from(held.slice(0, length), 'latin1'));
        held = held.slice(length);
        eventEnd.lastIndex = 0;
      }
      if (held.length > maxBytes) throw new RangeError(`an event of more than ${maxBytes} bytes`);
      return events;
    },
    held: () => held.length,
    release() {
      const rest = Buffer.from(held, 'latin1');
      held = '';
      return rest;
    },
  };
}

/** The data of one event, its lines joined, and undefined where it has none. */
export function eventData(event: string): string | undefined {
  const lines = event.split(/\r\n|\n|\r/).flatMap((line) => {
    if (line === 'data') return [''];
    return line.startsWith('data:') ? [line.slice('data:'.length).replace(/^ /, '')] : [];
  });
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** The same event with other data; its id, its kind and its retry time stay. */
export function withData(event: string, data: string): string {
  const others = event
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '' && line !== 'data' && !line.startsWith('data:'));
  return `${[...others, ...data.split(/\r\n|\n|\r/).map((line) => `data: ${line}`)].join('\n')}\n\n`;
}
