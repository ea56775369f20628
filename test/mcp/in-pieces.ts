import type { BodyFilter } from '../../src/core/gateway/forward/answer-messages.ts';

/** What a filter sends of a body that comes in pieces, cut at these places of it, whatever they are. */
export function inPieces(filter: BodyFilter, body: Buffer, cuts: readonly number[] = []): Buffer {
  const places = [...new Set(cuts.map((cut) => cut % (body.length + 1)))].toSorted((one, other) => one - other);
  const sent = [0, ...places].flatMap((start, index) =>
    filter.push(body.subarray(start, places[index] ?? body.length)),
  );
  return Buffer.concat([...sent, ...filter.end()]);
}
