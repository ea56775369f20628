import type { Random } from '../engine/random.ts';

/** Texts that parsers often mishandle. */
const awkward: readonly string[] = [
  '\0',
  '\n',
  '\r\n',
  '\r',
  '\t',
  ' ',
  '\x7f',
  '\x80',
  '\xff',
  '\xc3\xa9',
  '\xe2\x84\xaa',
  '\xef\xbb\xbf',
  '"',
  '\\',
  '%',
  '%00',
  '-1',
  '0',
  '1e400',
  '9007199254740993',
  '__proto__',
];

/** An input with one small change of its bytes, or with a part of another input inserted. */
export function changedBytes(input: Buffer, other: Buffer, words: readonly string[], random: Random): Buffer {
  const at = random.below(input.length + 1);
  const length = Math.min(1 << random.below(7), input.length - at);
  const before = input.subarray(0, at);
  const rest = input.subarray(at);
  switch (random.below(8)) {
    case 0:
      return Buffer.concat([before, input.subarray(at + length)]);
    case 1:
      return Buffer.concat([before, rest.subarray(0, length), rest]);
    case 2:
      return Buffer.concat([before, Buffer.of(random.below(256)), rest]);
    case 3:
      return Buffer.concat([before, Buffer.of((rest[0] ?? 0) ^ (1 << random.below(8))), rest.subarray(1)]);
    case 4:
      return Buffer.concat([before, Buffer.from(random.pick(awkward), 'latin1'), rest]);
    case 5: {
      const from = random.below(other.length + 1);
      return Buffer.concat([before, other.subarray(from, from + random.below(64)), rest]);
    }
    case 6:
      return Buffer.concat([before, Buffer.from(random.pick(words) ?? ''), input.subarray(at + length)]);
    default:
      return Buffer.concat([before, Buffer.from(random.pick(words) ?? ''), rest]);
  }
}
