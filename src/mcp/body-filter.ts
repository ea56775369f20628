import { Denial } from '../model/denial.ts';
import { createEventSplitter, eventData, withData } from './event-stream.ts';

/** Changes an answer's body on its way. Both may throw: then the answer is broken off. */
export interface BodyFilter {
  /** What goes on now that `chunk` has come; perhaps nothing. */
  push(chunk: Buffer): readonly Buffer[];
  /** What goes on at the end. */
  end(): readonly Buffer[];
}

/** What is to be changed in the messages of an answer. */
export interface Rewriting {
  /** Whether bytes may hold what it changes; the rest is not even decoded. */
  concerns(part: Buffer): boolean;
  /** The text of a message, changed, or undefined where nothing is to be changed. May throw for what it cannot read. */
  rewrite(text: string): string | undefined;
  /** Whether nothing may pass that was not read: what is too long, or has no end, is not sent then. */
  readonly mustRead: boolean;
}

/** What is longer, one body or one event, is not read: it would have to be held whole. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Creates the filter of an `application/json` body: one message, read at its end. */
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
      const body = Buffer.concat(release(), bytes);
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
 * Creates the filter of a body that cannot be read although it must be: without a byte it goes on.
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

/** Creates the filter of a body that says nothing: it is dropped. */
export function createDroppingFilter(): BodyFilter {
  return { push: () => [], end: () => [] };
}

/** Creates the filter of an event stream: each event goes on when it is whole. */
export function createEventFilter(rewriting: Rewriting): BodyFilter {
  const splitter = createEventSplitter(rewriting.mustRead ? MAX_BYTES : Infinity);
  return {
    push(chunk) {
      const events = splitter.push(chunk).map((event) => rewritten(event, rewriting));
      return splitter.held() > MAX_BYTES ? [...events, splitter.release()] : events;
    },
    // WHATWG HTML §9.2.6: an event without its end is none; but the client may as well see that for itself.
    end: () => (rewriting.mustRead || splitter.held() === 0 ? [] : [splitter.release()]),
  };
}

function rewritten(event: Buffer, rewriting: Rewriting): Buffer {
  if (!rewriting.concerns(event)) return event;
  // A stream may begin with a BOM, which its reader drops: what follows is data all the same.
  const text = event.toString().replace(/^\uFEFF/, '');
  const data = eventData(text);
  if (data === '' || isEndpoint(text, data)) return event;
  const changed = rewriting.rewrite(data);
  return changed === undefined ? event : Buffer.from(withData(text, changed));
}

/** HTTP+SSE of 2024-11-05: the first event of a stream says where messages are sent, and is none itself. */
function isEndpoint(event: string, data: string): boolean {
  return /^event: ?endpoint\r?$/m.test(event) && /^(?:\/|https?:\/\/)[!-~]*$/.test(data);
}

/** Within a JSON string the quotes would be escaped: this is a member, and nothing else. */
const publicScope = /("cacheScope"\s*:\s*)"public"/gi;
const spelled = '"cachescope":"public"';
/** Longer than the member in any spelling that a serializer writes. */
const LONGEST = 128;

/**
 * Creates the filter that makes a `public` result `private`, so that no cache shows it to other users. It holds back no
 * more than the beginning of the member: results of any length, and the events of a stream, flow.
 */
export function createPrivateFilter(): BodyFilter {
  let held = '';
  return {
    push(chunk) {
      const text = (held + chunk.toString('latin1')).replace(publicScope, '$1"private"');
      const end = beginningOfMember(text);
      held = text.slice(end);
      return end === 0 ? [] : [Buffer.from(text.slice(0, end), 'latin1')];
    },
    end: () => (held === '' ? [] : [Buffer.from(held, 'latin1')]),
  };
}

/** Where the member may have begun whose end has not come yet; the length of `text` where it has not. */
function beginningOfMember(text: string): number {
  let at = text.indexOf('"', Math.max(0, text.length - LONGEST));
  while (at !== -1 && !spelled.startsWith(text.slice(at).replace(/\s/g, '').toLowerCase())) {
    at = text.indexOf('"', at + 1);
  }
  return at === -1 ? text.length : at;
}
