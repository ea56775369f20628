import type { BodyFilter } from './body-filter.ts';

/** A longer id fits in no header section, so that no client could present it. */
const MAX_ID_BYTES = 4096;

const BOM = Buffer.from('\uFEFF');
const FIELD = Buffer.from('id:');
/** The beginnings of the field, which the next chunk may complete. */
const BEGINNINGS = [Buffer.from('id'), Buffer.from('i')];
const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20];
const NOTHING = Buffer.alloc(0);

/** The ids that a header can carry. Clients ignore an id with a NUL (WHATWG HTML §9.2.6); an empty one resets. */
const carried = /^[\t\x20-\x7e\x80-\xff]+$/;

/**
 * Creates the filter that changes the ids of an event stream (WHATWG HTML §9.2) and leaves every other byte. It holds
 * back only the beginning of a line that may be an id, so that an event passes while the upstream is still writing it.
 *
 * @param bind The client's id for an id of the server; both in latin1, as in a header.
 */
export function createEventIdFilter(bind: (id: string) => string): BodyFilter {
  let held: Buffer = NOTHING;
  let begun = false;
  /** Whether the next byte is the first of a line. */
  let atLineStart = true;

  /** The end of the line that begins at `start`, or -1. */
  function lineEnd(bytes: Buffer, start: number): number {
    const limit = Math.min(bytes.length, start + MAX_ID_BYTES);
    for (let at = start; at < limit; at += 1) if (bytes[at] === LF || bytes[at] === CR) return at;
    return -1;
  }

  function beginsLine(bytes: Buffer, at: number): boolean {
    return at === 0 ? atLineStart : bytes[at - 1] === LF || bytes[at - 1] === CR;
  }

  /** Where an incomplete id may begin; the length of `bytes` where none does. */
  function unfinished(bytes: Buffer): number {
    for (const beginning of BEGINNINGS) {
      const at = bytes.length - beginning.length;
      if (beginsLine(bytes, at) && bytes.subarray(at).equals(beginning)) return at;
    }
    return bytes.length;
  }

  return {
    push(chunk) {
      let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      held = NOTHING;
      const pieces: Buffer[] = [];
      if (!begun) {
        // A stream may begin with a BOM, which its reader drops.
        if (bytes.length < BOM.length && BOM.subarray(0, bytes.length).equals(bytes)) {
          held = bytes;
          return [];
        }
        begun = true;
        if (bytes.subarray(0, BOM.length).equals(BOM)) {
          pieces.push(BOM);
          bytes = bytes.subarray(BOM.length);
        }
      }
      let copied = 0;
      let end = bytes.length;
      for (let at = bytes.indexOf(FIELD); at !== -1; at = bytes.indexOf(FIELD, at + 1)) {
        if (!beginsLine(bytes, at)) continue;
        const lineEnds = lineEnd(bytes, at);
        if (lineEnds === -1 && bytes.length - at >= MAX_ID_BYTES) continue;
        if (lineEnds === -1) {
          end = at;
          break;
        }
        const value = at + FIELD.length + (bytes[at + FIELD.length] === SPACE ? 1 : 0);
        const id = bytes.toString('latin1', value, lineEnds);
        if (!carried.test(id)) continue;
        pieces.push(bytes.subarray(copied, value), Buffer.from(bind(id), 'latin1'));
        copied = lineEnds;
      }
      if (end === bytes.length) end = unfinished(bytes);
      held = bytes.subarray(end);
      atLineStart = beginsLine(bytes, end);
      if (end > copied) pieces.push(bytes.subarray(copied, end));
      return pieces.length > 1 ? [Buffer.concat(pieces)] : pieces;
    },
    end: () => (held.length === 0 ? [] : [held]),
  };
}
