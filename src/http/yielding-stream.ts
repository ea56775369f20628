import { Transform, type Readable } from 'node:stream';

/** So much passes at once: most bodies are no longer. */
const AT_ONCE_BYTES = 64 * 1024;

/**
 * Lets a body through, of a long one a piece in a turn of the event loop: Node reads up to 2 MiB of a fast sender before
 * it looks at anybody else.
 */
export class YieldingStream extends Transform {
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= AT_ONCE_BYTES) done(null, chunk);
    else setImmediate(done, null, chunk);
  }
}

/** Reads what nobody wants, a piece in a turn of the event loop. */
export function drain(body: Readable): void {
  body.on('data', () => {
    body.pause();
    setImmediate(() => body.resume());
  });
  body.resume();
}
