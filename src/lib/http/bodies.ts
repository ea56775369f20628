import { type Readable, Transform } from 'node:stream';

/** Bodies up to this size are forwarded without yielding. */
const AT_ONCE_BYTES = 64 * 1024;

/**
 * Passes a body on, and yields to the event loop after each piece of a long one. Node reads up to 2 MiB from a fast
 * sender before it serves other connections.
 */
export class YieldingStream extends Transform {
  #bytes = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
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
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The answer, whose body ends with an error as soon as it has more than `maxBytes`, also where it is compressed. */
export function boundedBody(answer: Response, maxBytes: number): Response {
  if (answer.body === null) return answer;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= maxBytes) controller.enqueue(chunk);
      else controller.error(new Error(`answered with more than ${maxBytes} bytes`));
    },
  });
  const { status, statusText, headers } = answer;
  return new Response(answer.body.pipeThrough(counted), { status, statusText, headers });
}
