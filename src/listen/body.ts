import { Denial } from '../model/denial.ts';
import type { Call } from '../model/call.ts';

/**
 * Reads the whole body of a call, once, and no further than `maxBytes`: a declared length beyond it is refused before
 * the first byte, an undeclared one while it arrives.
 *
 * @throws {Denial} `body.too_large`, or `body.incomplete` when the client ends early.
 */
export function readBody(call: Call, maxBytes: number): Promise<Buffer> {
  const { request, fields } = call;
  const tooLarge = (): Denial => new Denial('body.too_large', `more than ${maxBytes} bytes`);
  if (Number(fields.contentLength ?? 0) > maxBytes) return Promise.reject(tooLarge());
  // Its `close` has been emitted; nothing would ever settle this.
  if (request.destroyed)
    return Promise.reject(new Denial('body.incomplete', 'the client left before its body was read'));
  // A body that was not announced emits nothing either.
  if (request.readableEnded) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const settle = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      outcome();
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > maxBytes) settle(() => reject(tooLarge()));
      else chunks.push(chunk);
    };
    const onEnd = (): void =>
      settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)));
    const onClose = (): void => settle(() => reject(new Denial('body.incomplete', 'the client ended before its body')));
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
