import type { Quota } from '../../lib/fair-share.ts';
import { Gatherer } from '../../lib/gatherer.ts';
import { addressBlock } from '../../lib/ip-address.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';

/** A body up to this size takes no quota: it costs hardly more than its connection. */
const SMALL_BYTES = 16 * 1024;
const MIN_QUOTA_BYTES = 256 * 1024 * 1024;
const MIN_QUOTA_BODIES = 64;

/** The quota in bytes for all larger bodies held at the same time, if one may have `maxBytes`. */
export function bodyQuotaBytes(maxBytes: number): number {
  return Math.max(MIN_QUOTA_BYTES, MIN_QUOTA_BODIES * maxBytes);
}

/**
 * Reads the whole body of a call, once. A declared length over `maxBytes` is refused before the first byte, an
 * undeclared one as soon as the body exceeds the limit.
 *
 * @param quota In bytes of memory, by {@link addressBlock} of the client. A body that holds more than
 *   {@link SMALL_BYTES} takes from it until its call ends. Otherwise a client could fill the memory with many bodies
 *   that never end.
 *
 * @throws {Denial} `body.too_large`, `body.no_room`, or `body.incomplete` when the client ends early.
 */
export function readBody(call: Call, maxBytes: number, quota: Quota): Promise<Buffer> {
  const { request, response, client, fields } = call;
  const tooLarge = (): Denial => new Denial('body.too_large', `more than ${maxBytes} bytes`);
  if (Number(fields.contentLength ?? 0) > maxBytes) return Promise.reject(tooLarge());
  // Its `close` event has passed: no later event would settle the promise.
  if (request.destroyed)
    return Promise.reject(new Denial('body.incomplete', 'the client left before its body was read'));
  // A request without a body emits no events.
  if (request.readableEnded) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve, reject) => {
    const gatherer = new Gatherer(maxBytes);
    let taken = 0;
    let isRead = false;
    const refuse = (denial: Denial): void => {
      request.off('data', onData);
      gatherer.clear();
      reject(denial);
    };
    const takeQuota = (): void => {
      const owner = addressBlock(client);
      const { heldBytes } = gatherer;
      if (!quota.take(owner, heldBytes - taken)) {
        refuse(new Denial('body.no_room', `bodies in memory exceed the quota of ${owner} or the total`));
        return;
      }
      if (taken === 0) response.once('close', () => quota.give(owner, taken));
      taken = heldBytes;
    };
    const onData = (chunk: Buffer): void => {
      if (gatherer.length + chunk.length > maxBytes) {
        refuse(tooLarge());
        return;
      }
      gatherer.push(chunk);
      if (gatherer.heldBytes > SMALL_BYTES && gatherer.heldBytes > taken) takeQuota();
    };
    const onEnd = (): void => {
      isRead = true;
      resolve(gatherer.take());
    };
    const onClose = (): void => {
      if (!isRead) refuse(new Denial('body.incomplete', 'the client ended before its body'));
    };
    // They stay: to remove them would take time in each request, and they end with it.
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
