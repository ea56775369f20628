import type { Action } from '../model/grant.ts';

/**
 * Cuts an event stream (WHATWG HTML §9.2) into complete events, each with the empty line that ends it, byte for byte.
 */
export interface EventSplitter {
  /** The events that `chunk` completes. */
  push(chunk: Buffer): readonly Buffer[];
  /** The number of bytes of the event that is not complete yet. */
  held(): number;
  /** Returns the bytes of that event, as they are. */
  release(): Buffer;
}

const [LF, CR] = [0x0a, 0x0d];

/** The end of an event: two line ends in a row, of any of the three kinds. */
const eventEnd = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g;

/** @throws {RangeError} from `push` for an event of more than `maxBytes`. */
export function createEventSplitter(maxBytes: number): EventSplitter {
  let held: Buffer[] = [];
  let heldBytes = 0;
  /** The last characters that are held, the only ones to search again: the end of the event may begin in them. */
  let tail = '';

  function take(last: Buffer): Buffer {
    const event = heldBytes === 0 ? last : Buffer.concat([...held, last]);
    held = [];
    heldBytes = 0;
    return event;
  }

  return {
    push(chunk) {
      const text = tail + chunk.toString('latin1');
      const before = tail.length;
      const events: Buffer[] = [];
      let start = 0;
      let searched = 0;
      eventEnd.lastIndex = 0;
      for (;;) {
        const end = eventEnd.exec(text);
        // A CR at the end of the text may be half of a line end.
        if (end === null || (eventEnd.lastIndex === text.length && text.endsWith('\r'))) break;
        searched = eventEnd.lastIndex;
        events.push(take(chunk.subarray(start, searched - before)));
        start = searched - before;
      }
      const rest = chunk.subarray(start);
      held.push(rest);
      heldBytes += rest.length;
      tail = text.slice(Math.max(searched, text.length - 3));
      if (heldBytes > maxBytes) throw new RangeError(`an event of more than ${maxBytes} bytes`);
      return events;
    },
    held: () => heldBytes,
    release() {
      tail = '';
      return take(Buffer.alloc(0));
    },
  };
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
