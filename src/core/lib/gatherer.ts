const NOTHING = Buffer.alloc(0);
/** The least size of a buffer of its own. */
const MIN_BYTES = 1024;

/**
 * Gathers bytes that arrive in pieces into one buffer, which grows. An array of the pieces would hold an object for
 * each: 150 to 300 bytes for a piece of one byte, which no limit on bytes would count.
 *
 * A first piece is held as it came, so that bytes that arrive whole are not copied.
 */
export class Gatherer {
  readonly #maxBytes: number;
  #buffer: Buffer = NOTHING;
  #length = 0;
  /** Whether the buffer was allocated here, so that it can be written to. */
  #isOwn = false;

  /** @param maxBytes The most bytes that will be gathered. The buffer does not grow beyond it for fewer. */
  constructor(maxBytes = Infinity) {
    this.#maxBytes = maxBytes;
  }

  /** The number of bytes gathered. */
  get length(): number {
    return this.#length;
  }

  /** The bytes of memory that are held: at most twice the length, or 1 KiB. */
  get heldBytes(): number {
    return this.#isOwn ? this.#buffer.length : this.#buffer.buffer.byteLength;
  }

  /** Adds a piece. The caller must not change its bytes afterwards. */
  push(piece: Buffer): void {
    if (piece.length === 0) return;
    // A piece may be a small part of a large read, all of which it would keep in memory.
    if (this.#length === 0 && piece.buffer.byteLength <= Math.max(MIN_BYTES, 2 * piece.length)) {
      this.#buffer = piece;
      this.#isOwn = false;
    } else {
      this.#grow(this.#length + piece.length);
      piece.copy(this.#buffer, this.#length);
    }
    this.#length += piece.length;
  }

  /** Returns all bytes, and holds none from then on. */
  take(): Buffer {
    const bytes = this.#buffer.subarray(0, this.#length);
    const isSparse = this.#isOwn && this.#buffer.length > 2 * this.#length;
    this.clear();
    return isSparse ? Buffer.from(bytes) : bytes;
  }

  /** Drops all bytes. */
  clear(): void {
    this.#buffer = NOTHING;
    this.#length = 0;
    this.#isOwn = false;
  }

  #grow(needed: number): void {
    if (this.#isOwn && needed <= this.#buffer.length) return;
    const comfortable = Math.max(MIN_BYTES, Math.min(2 * this.#length, this.#maxBytes));
    // Not from Node's pool: the size of a buffer is then what it keeps in memory.
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, comfortable));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
    this.#isOwn = true;
  }
}
