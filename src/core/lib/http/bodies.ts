import { type Readable, Transform, type TransformCallback, type TransformOptions } from 'node:stream';
import { Gatherer } from '../gatherer.ts';

/** Bodies up to this size are forwarded without yielding. */
const AT_ONCE_BYTES = 64 * 1024;

/**
 * Passes a body on, and yields to the event loop after each piece of a long one. Node reads up to 2 MiB from a fast
 * sender before it serves other connections.
 */
export class YieldingStream extends Transform {
  readonly #judge: () => void;
  #bytes = 0;

  /** @param judge Called before each piece; what it throws ends the stream. */
  constructor(judge = (): void => {}, options?: TransformOptions) {
    super(options);
    this.#judge = judge;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      this.#judge();
    } catch (error) {
      return done(error as Error);
    }
    this.#bytes += chunk.length;
    if (this.#bytes <= AT_ONCE_BYTES) done(null, chunk);
    else setImmediate(done, null, chunk);
  }
}

/** Reads and discards a body, one piece in each turn of the event loop. */
export function drain(body: Readable): void {
  body.on('data', () => {
    body.pause();
    setImmediate(() => body.resume());
  });
  body.resume();
}

/** All bytes of a body, which stays open. @throws what `tooLong` makes, as soon as there are more than `maxBytes`. */
export async function boundedBytes(body: Readable, maxBytes: number, tooLong: () => Error): Promise<Buffer> {
  return gathered(body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>, maxBytes, tooLong);
}

/**
 * The answer with a body that was read to its end.
 *
 * @throws {Error} for a body of more than `maxBytes`, also where it is compressed.
 */
export async function boundedAnswer(answer: Response, maxBytes: number): Promise<Response> {
  if (answer.body === null) return answer;
  const tooLong = (): Error => new Error(`answered with more than ${maxBytes} bytes`);
  const { status, statusText, headers } = answer;
  const body = new Uint8Array(await gathered(answer.body, maxBytes, tooLong));
  return new Response(body, { status, statusText, headers });
}

async function gathered(pieces: AsyncIterable<Uint8Array>, maxBytes: number, tooLong: () => Error): Promise<Buffer> {
  const gatherer = new Gatherer(maxBytes);
  for await (const { buffer, byteOffset, byteLength } of pieces) {
    if (gatherer.length + byteLength > maxBytes) throw tooLong();
    gatherer.push(Buffer.from(buffer, byteOffset, byteLength));
  }
  return gatherer.take();
}
