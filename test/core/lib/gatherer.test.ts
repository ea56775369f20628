import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Gatherer } from '../../../src/core/lib/gatherer.ts';
import { property } from '../../support/property.ts';

const KIB = 1024;
const MIB = KIB * KIB;
/** Bytes whose buffer is theirs alone. */
const alone = (length: number): Buffer => Buffer.allocUnsafeSlow(length).fill('x');

/** What is gathered of pieces, and the most memory held for a byte gathered, beyond the first KiB. */
function gathered(pieces: Iterable<Buffer>, maxBytes?: number): { readonly bytes: Buffer; readonly worst: number } {
  const gatherer = new Gatherer(maxBytes);
  let worst = 0;
  for (const piece of pieces) {
    gatherer.push(piece);
    if (gatherer.heldBytes > KIB) worst = Math.max(worst, gatherer.heldBytes / gatherer.length);
  }
  return { bytes: gatherer.take(), worst };
}

property(
  'holds the bytes of all pieces, in at most twice the memory',
  [fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 12 })],
  (arrays) => {
    const pieces = arrays.map((each) => Buffer.from(each));
    const { bytes, worst } = gathered(pieces);
    expect(bytes.equals(Buffer.concat(pieces))).toBe(true);
    expect(worst).toBeLessThanOrEqual(2);
  },
);

test('a MiB in pieces of one byte takes at most two', () => {
  const { bytes, worst } = gathered(Array.from({ length: MIB }, () => alone(1)));
  expect(bytes.length).toBe(MIB);
  expect(worst).toBeLessThanOrEqual(2);
});

test('its buffer does not exceed the limit on the bytes', () => {
  const gatherer = new Gatherer(5 * KIB);
  for (let at = 0; at < 5 * KIB; at += 1) gatherer.push(alone(1));
  expect(gatherer.heldBytes).toBe(5 * KIB);
});

describe('the first piece', () => {
  test('is held as it came', () => {
    const whole = alone(MIB);
    const { bytes } = gathered([whole]);
    expect(bytes.buffer).toBe(whole.buffer);
  });

  test('that is a small part of a large read does not keep the read', () => {
    const gatherer = new Gatherer();
    gatherer.push(alone(64 * KIB).subarray(5, 7));
    expect(gatherer.heldBytes).toBe(KIB);
    expect(gatherer.take().toString()).toBe('xx');
  });

  test('is not written to', () => {
    const first = alone(4).subarray(0, 2);
    const { bytes } = gathered([first, Buffer.from('yy')]);
    expect([bytes.toString(), Buffer.from(first.buffer).toString()]).toEqual(['xxyy', 'xxxx']);
  });
});

test('bytes that are taken or dropped are held no longer', () => {
  const gatherer = new Gatherer();
  for (const end of [() => gatherer.take(), () => gatherer.clear()]) {
    gatherer.push(alone(3000));
    gatherer.push(alone(1));
    end();
    expect([gatherer.length, gatherer.heldBytes, gatherer.take().length]).toEqual([0, 0, 0]);
  }
});
