/**
 * What a byte of each party costs: the inputs that have been the dearest, and with `FUZZ_CASES` new ones too.
 *
 * @module
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { wordsIn } from '../support/words-in.ts';
import { corpus, leastCost, meanCost, readerOf, type Shape, textOf } from './cost/cases.ts';
import { readers } from './cost/readers.ts';

const cases = Number(process.env['FUZZ_CASES'] ?? 0);

/** How many bytes of an ordinary message one byte may cost. A test among others leaves room for their noise. */
const factor = cases === 0 ? 40 : 25;
const ordinary = corpus.find(({ reader, isOrdinary }) => reader === 'MCP message' && isOrdinary === true) as Shape;
const reference = textOf(ordinary, 256 * 1024);
/** In milliseconds, in this process. */
const perByte = (factor * meanCost(readerOf(ordinary), reference)) / Buffer.byteLength(reference);
/** What a reading may take whatever its length: the clock of a process moves in steps. */
const STEP_MS = 8;

/** The longest step that a header section of a caller may cost. */
const LONGEST_STEP_MS = 20;

test.each(Object.keys(readers))('the corpus has an ordinary input of %s', (name) => {
  expect(corpus.filter(({ reader, isOrdinary }) => reader === name && isOrdinary === true)).toHaveLength(1);
});

test.each(corpus)('a byte of $reader costs no more than some of an ordinary message: $unit', (shape) => {
  // A quarter is enough to see what grows faster than its input: the bound grows with it.
  const whole = readerOf(shape).measured ?? readerOf(shape).most;
  const text = textOf(shape, whole > 64 * 1024 ? whole / 4 : whole);
  const most = perByte * Buffer.byteLength(text) + STEP_MS;
  expect(leastCost(readerOf(shape), text, most)).toBeLessThan(most);
});

const nasty = fc.constantFrom(
  ...wordsIn`" \ \n \u00e9 , : [ ] { } {} [] "a" "#" "#":1 1 1.0 #.0 -0 1e9 . .. / % %25 %2e %EF%B7%BA %E2%80%8B`,
  ...wordsIn`+ ; = * @ ? # ::$ ß 漢 😀 a A name null`,
  ' ',
  '\t',
  '\n',
  '\uFDFA',
  '\u0130',
  '\u0307',
  '\u0300\u0316',
  '\u200B',
  '\uFF0E',
  '\u1F80',
);

test.skipIf(cases === 0)('no repetition of a few characters costs more, in any reader', { timeout: 3_600_000 }, () => {
  const frames = fc.constantFrom(...corpus.map(({ reader, before = '', after = '' }) => ({ reader, before, after })));
  const units = fc.array(nasty, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(frames, units, fc.boolean(), (frame, unit, isMember) => {
      const shape = { ...frame, unit: isMember && frame.before.includes('{') ? `${unit},` : unit };
      const reader = readerOf(shape);
      const text = textOf(shape, Math.min(reader.measured ?? reader.most, 128 * 1024));
      const bytes = Buffer.byteLength(text);
      const most = reader.most <= 16 * 1024 ? LONGEST_STEP_MS : perByte * bytes + STEP_MS;
      const cost = leastCost(reader, text, most, 6);
      const told = `${cost} ms for ${bytes} bytes, less than ${most} expected: add ${JSON.stringify(shape)} to the corpus`;
      expect(cost < most ? 'cheap' : told).toBe('cheap');
    }),
    { numRuns: cases / 4 },
  );
});

test.skipIf(cases === 0).each(corpus)('$reader takes no more memory than 160 bytes a byte: $unit', (shape) => {
  const { read, measured, most } = readerOf(shape);
  const text = textOf(shape, Math.min(measured ?? most, 256 * 1024));
  const grown = Array.from({ length: 3 }, () => {
    const before = process.memoryUsage().heapUsed;
    try {
      read(text);
    } catch {
      // What a refusal allocates counts too.
    }
    return process.memoryUsage().heapUsed - before;
  });
  expect(Math.min(...grown)).toBeLessThan(160 * Buffer.byteLength(text) + 4 * 1024 * 1024);
});
