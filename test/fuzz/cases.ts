import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Random } from './mutate/random.ts';
import { changedRequest } from './mutate/request.ts';

/** A line of a corpus file. It has `text` if the bytes are UTF-8, otherwise `latin1`, one character for each byte. */
interface Line {
  /** Only for cases that a person wrote and for findings. */
  readonly name?: string;
  readonly text?: string;
  readonly latin1?: string;
}

/** The committed cases. */
export function readCorpus(): readonly Buffer[] {
  const lines = readFileSync(new URL('request/corpus.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => {
    const { text, latin1 } = JSON.parse(line) as Line;
    return latin1 === undefined ? Buffer.from(text ?? '') : Buffer.from(latin1, 'latin1');
  });
}

/** The line of a finding, to add to the corpus. It is ASCII, so that a reviewer sees each character. */
export function findingLine(input: Buffer): string {
  const text = input.toString();
  const content = Buffer.from(text).equals(input) ? { text } : { latin1: input.toString('latin1') };
  const name = `finding-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`;
  const ascii = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify({ name, ...content } satisfies Line).replaceAll(/[^ -~]/g, ascii);
}

/** Texts with a meaning to the gateway. They are inserted into cases. */
const words = (
  'GET |POST | HTTP/1.1\r\n|\r\n|\r\n\r\n|Host: gateway.test\r\n|0\r\n\r\n|: |chunked|Content-Length: |' +
  'Transfer-Encoding: chunked\r\n|Connection: |Authorization: Bearer {{bob}}\r\n|X-Auth-Subject: root\r\n|' +
  'Expect: 100-continue\r\n|GET /u/admin HTTP/1.1\r\nHost: gateway.test\r\n\r\n'
).split('|');

/** The longest case in bytes. */
const LONGEST = 64 * 1024;

/** One of the seeds after one to eight changes, of its grammar or its bytes, as fast-check chooses. */
export function changedCase(generate: fc.GeneratorValue, seeds: readonly Buffer[]): Buffer {
  const random: Random = {
    below: (bound) => generate(fc.nat, { max: bound - 1 }),
    chance: (probability) => generate(fc.double, { min: 0, max: 1, maxExcluded: true, noNaN: true }) < probability,
    pick: (from) => from[random.below(from.length)] as (typeof from)[number],
  };
  let input = random.pick(seeds);
  for (let left = 1 << random.below(4); left > 0; left -= 1) {
    input = random.chance(0.7) ? changedRequest(input, random) : changedBytes(input, random.pick(seeds), random);
  }
  return input.subarray(0, LONGEST);
}

/** Texts that parsers often mishandle. */
const awkward = ['\0', '\n', '\r\n', '\r', '\t', ' ', '\x7f', '\x80', '\xff', '\xc3\xa9', '\xe2\x84\xaa'].concat([
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
]);

/** An input with one small change of its bytes, or with a part of another input inserted. */
function changedBytes(input: Buffer, other: Buffer, random: Random): Buffer {
  const at = random.below(input.length + 1);
  const length = Math.min(1 << random.below(7), input.length - at);
  const before = input.subarray(0, at);
  const rest = input.subarray(at);
  const word = (): Buffer => Buffer.from(random.pick(words));
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
      return Buffer.concat([before, word(), input.subarray(at + length)]);
    default:
      return Buffer.concat([before, word(), rest]);
  }
}
