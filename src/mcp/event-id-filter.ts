import { Gatherer } from '../core/lib/gatherer.ts';
import type { BodyFilter } from '../core/gateway/forward/answer-messages.ts';

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20];
/** A longer line fits in no header section, so that no client could present its id. */
const MAX_ID_BYTES = 4096;

const BOM = Buffer.from('\uFEFF');
const FIELD = Buffer.from('id:');

/** The ids that a header can carry. Clients ignore an id with a NUL (WHATWG HTML §9.2.6); an empty one resets. */
const carried = /^[\t\x20-\x7e\x80-\xff]+$/;

/**
 * The filter that changes the ids of an event stream (WHATWG HTML §9.2) and leaves every other byte. It holds back only
 * the beginning of a line that may be an id, so that an event passes while the upstream is still writing it.
 */
export class EventIdFilter implements BodyFilter {
  readonly #bind: (id: string) => string;
  /** How many bytes of a BOM the stream began with; all of them once it cannot begin with one. */
  #bomBytes = 0;
  #atLineStart = true;
  /** How many bytes of the field are held: it is open if they are not 0. */
  #fieldBytes = 0;
  /** What is held behind the field. */
  readonly #value = new Gatherer(MAX_ID_BYTES);

  /** @param bind The client's id for an id of the server; both in latin1, as in a header. */
  constructor(bind: (id: string) => string) {
    this.#bind = bind;
  }

  push(received: Buffer): readonly Buffer[] {
    const pieces: Buffer[] = [];
    const chunk = this.#bomBytes === BOM.length ? received : this.#behindBom(received, pieces);
    let at = this.#fieldBytes === 0 ? 0 : this.#readField(chunk, 0, pieces);
    for (let next = this.#nextField(chunk, at); next !== -1; next = this.#nextField(chunk, at)) {
      if (next > at) pieces.push(chunk.subarray(at, next));
      at = this.#readField(chunk, next, pieces);
    }
    if (at < chunk.length) {
      pieces.push(chunk.subarray(at));
      this.#atLineStart = isLineEnd(chunk.at(-1));
    }
    return pieces.length > 1 ? [Buffer.concat(pieces)] : pieces;
  }

  end(): readonly Buffer[] {
    return this.#fieldBytes === 0 ? [] : [FIELD.subarray(0, this.#fieldBytes), this.#value.take()];
  }

  /** A stream may begin with a BOM, which its reader drops: the line behind it is the first. */
  #behindBom(chunk: Buffer, pieces: Buffer[]): Buffer {
    let at = 0;
    while (at < chunk.length && chunk[at] === BOM[this.#bomBytes]) {
      this.#bomBytes += 1;
      at += 1;
    }
    if (at < chunk.length) {
      this.#atLineStart = this.#bomBytes === 0 || this.#bomBytes === BOM.length;
      this.#bomBytes = BOM.length;
    }
    if (at > 0) pieces.push(chunk.subarray(0, at));
    return chunk.subarray(at);
  }

  /** Where the next field begins, which the end of the chunk may cut off; -1 without one. */
  #nextField(chunk: Buffer, from: number): number {
    for (let at = chunk.indexOf(FIELD, from); at !== -1; at = chunk.indexOf(FIELD, at + 1)) {
      if (this.#beginsLine(chunk, at)) return at;
    }
    for (let at = Math.max(from, chunk.length - FIELD.length); at < chunk.length; at += 1) {
      if (this.#beginsLine(chunk, at) && chunk.subarray(at).equals(FIELD.subarray(0, chunk.length - at))) return at;
    }
    return -1;
  }

  #beginsLine(chunk: Buffer, at: number): boolean {
    return at === 0 ? this.#atLineStart : isLineEnd(chunk[at - 1]);
  }

  /** Reads on in a field, and adds it to `pieces` once it is complete. Returns where it ends in the chunk. */
  #readField(chunk: Buffer, from: number, pieces: Buffer[]): number {
    this.#atLineStart = false;
    let at = from;
    while (this.#fieldBytes < FIELD.length) {
      if (at === chunk.length) return at;
      if (chunk[at] !== FIELD[this.#fieldBytes]) {
        pieces.push(FIELD.subarray(0, this.#fieldBytes));
        this.#fieldBytes = 0;
        return at;
      }
      this.#fieldBytes += 1;
      at += 1;
    }
    const limit = Math.min(chunk.length, at + MAX_ID_BYTES - FIELD.length - this.#value.length);
    const start = at;
    while (at < limit && !isLineEnd(chunk[at])) at += 1;
    const part = chunk.subarray(start, at);
    const isTooLong = FIELD.length + this.#value.length + part.length === MAX_ID_BYTES;
    const isOpen = at === chunk.length && !isTooLong;
    if (isOpen || this.#value.length > 0) this.#value.push(part);
    if (isOpen) return at;
    const value = this.#value.length > 0 ? this.#value.take() : part;
    pieces.push(FIELD, isTooLong ? value : this.#bound(value));
    this.#fieldBytes = 0;
    return at;
  }

  #bound(value: Buffer): Buffer {
    const start = value[0] === SPACE ? 1 : 0;
    const id = value.toString('latin1', start);
    if (!carried.test(id)) return value;
    return Buffer.concat([value.subarray(0, start), Buffer.from(this.#bind(id), 'latin1')]);
  }
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}
