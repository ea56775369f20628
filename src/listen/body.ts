import type { Quota } from '../lib/quota.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';

/** A body up to this length costs hardly more than its connection. */
const SMALL_BYTES = 16 * 1024;
const LEAST_ROOM_BYTES = 256 * 1024 * 1024;
const LEAST_ROOM_BODIES = 64;

/** What all larger bodies that are held at the same time may take, where one may have `maxBytes`. */
export function roomForBodies(maxBytes: number): number {
  return Math.max(LEAST_ROOM_BYTES, LEAST_ROOM_BODIES * maxBytes);
}

/**
 * Reads the whole body of a call, once, and no further than `maxBytes`: a declared length beyond it is refused before
 * the first byte, an undeclared one while it arrives.
 *
 * @param room In bytes, by client address. A body that is not small takes of it until its call is over: else whoever sends
 *   many at once, and never their ends, would have all memory.
 *
 * @throws {Denial} `body.too_large`, `body.no_room`, or `body.incomplete` when the client ends early.
 */
export function readBody(call: Call, maxBytes: number, room: Quota): Promise<Buffer> {
  const { request, response, client, fields } = call;
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
    let taken = 0;
    const settle = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      outcome();
    };
    const takeRoom = (): boolean => {
      if (!room.take(client, bytes - taken)) return false;
      if (taken === 0) response.once('close', () => room.give(client, taken));
      taken = bytes;
      return true;
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > maxBytes) settle(() => reject(tooLarge()));
      else if (bytes > SMALL_BYTES && !takeRoom()) {
        settle(() => reject(new Denial('body.no_room', `${client} or all together hold too much already`)));
      } else chunks.push(chunk);
    };
    const onEnd = (): void =>
      settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)));
    const onClose = (): void => settle(() => reject(new Denial('body.incomplete', 'the client ended before its body')));
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
