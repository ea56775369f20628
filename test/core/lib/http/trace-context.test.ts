import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTraceContext, traceparentOf } from '../../../../src/core/lib/http/trace-context.ts';
import { cpuTime } from '../../../support/cpu-time.ts';
import { property } from '../../../support/property.ts';

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';
const valid = `00-${id}-${parent}-01`;

describe('a traceparent', () => {
  test.each([
    ['sampled', valid, true, false],
    ['not sampled', `00-${id}-${parent}-00`, false, false],
    ['random, level 2', `00-${id}-${parent}-02`, false, true],
    ['with flags that are not known', `00-${id}-${parent}-fd`, true, false],
    ['of a later version, as long', `cc-${id}-${parent}-01`, true, false],
    ['of a later version, with more', `01-${id}-${parent}-01-what.the=future;brings`, true, false],
    ['of a later version, with a dash more', `01-${id}-${parent}-01-`, true, false],
  ])('%s', (_title, traceparent, isSampled, isRandom) => {
    expect(readTraceContext(traceparent, undefined)).toEqual({
      traceId: id,
      parentId: parent,
      isSampled,
      isRandom,
      traceparent,
      tracestate: undefined,
    });
  });

  test.each([
    ['empty', ''],
    ['of the version that is none', `ff-${id}-${parent}-01`],
    ['without version', `${id}-${parent}-01`],
    ['with a version of one digit', `0-${id}-${parent}-01`],
    ['with a version that is not hex', `.0-${id}-${parent}-01`],
    ['with a version in capitals', `CC-${id}-${parent}-01`],
    ['of this version, with more', `${valid}-x`],
    ['of this version, with a dash more', `${valid}-`],
    ['of a later version, with more that is not set off', `cc-${id}-${parent}-01.x`],
    ['of a later version, twice', `01-${id}-${parent}-01-x,01-${id}-${parent}-01-x`],
    ['of a later version, too short', `01-${id}-${parent}-0`],
    ['of a later version, endless', `01-${id}-${parent}-01-${'x'.repeat(500)}`],
    ['with a trace-id of zeros', `00-${'0'.repeat(32)}-${parent}-01`],
    ['with a trace-id in capitals', `00-${id.toUpperCase()}-${parent}-01`],
    ['with a trace-id too short', `00-${id.slice(1)}-${parent}-01`],
    ['with a trace-id too long', `00-0${id}-${parent}-01`],
    ['with a trace-id that is not hex', `00-${id.slice(1)}g-${parent}-01`],
    ['with a parent-id of zeros', `00-${id}-${'0'.repeat(16)}-01`],
    ['with a parent-id in capitals', `00-${id}-${parent.toUpperCase()}-01`],
    ['with a parent-id too short', `00-${id}-${parent.slice(1)}-01`],
    ['with flags of one digit', `00-${id}-${parent}-1`],
    ['with flags of three', `00-${id}-${parent}-001`],
    ['with flags that are not hex', `00-${id}-${parent}-.1`],
    ['with a space before it', ` ${valid}`],
    ['with a line break', `${valid}\n`],
    ['twice', `${valid}, ${valid}`],
    ['with underscores', valid.replaceAll('-', '_')],
  ])('%s is none', (_title, traceparent) => {
    expect(readTraceContext(traceparent, 'a=1')).toBeUndefined();
  });

  test('is none where there is only its companion', () => {
    expect(readTraceContext(undefined, 'a=1')).toBeUndefined();
  });
});

describe('a tracestate', () => {
  const many = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}=v`).join(',');

  test.each([
    ['one member', 'rojo=00f067aa0ba902b7'],
    ['two', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'],
    ['spaces and tabs between them', 'rojo=1 ,\t congo=2'],
    ['empty members', 'rojo=1,, ,congo=2,'],
    ['a value with spaces in it, and before it', 'rojo=  a b'],
    ['a key of a tenant', 'fw529a3039@dt=FfAAAA'],
    ['a key that begins with a digit, level 2', '0rojo=1'],
    ['a key twice, which is for its reader to sort out', 'a=1,a=2'],
    ['the limit of members', many(32)],
    ['the longest', `${'k'.repeat(256)}=${'v'.repeat(256)}`],
  ])('%s', (_title, tracestate) => {
    expect(readTraceContext(valid, tracestate)?.tracestate).toBe(tracestate);
  });

  test.each([
    ['nothing', ''],
    ['nothing but commas', ' ,,\t'],
    ['no value', 'rojo'],
    ['an empty value', 'rojo='],
    ['an empty key', '=1'],
    ['a key in capitals', 'Rojo=1'],
    ['a key with a space', 'ro jo=1'],
    ['a key with a dot', 'ro.jo=1'],
    ['a value with =', 'rojo=a=b'],
    ['a value that is not ASCII', 'rojo=\u00e9'],
    ['a space that is not ASCII', '\u00a0rojo=1'],
    ['a control character', 'rojo=\u0007'],
    ['a tab in a value', 'rojo=a\tb'],
    ['a key too long', `${'k'.repeat(257)}=1`],
    ['a value too long', `k=${'v'.repeat(257)}`],
    ['one member too many', many(33)],
    ['one that is bad among good ones', 'rojo=1,CONGO=2'],
  ])('%s: left out, without harm', (_title, tracestate) => {
    expect(readTraceContext(valid, tracestate)).toMatchObject({ traceId: id, tracestate: undefined });
  });

  test('is read in time, whatever comes', () => {
    const texts = [' '.repeat(16_000), `a=${' '.repeat(16_000)}`, `a= ${',  '.repeat(5_000)}`, '='.repeat(16_000)];
    const ms = cpuTime(() => {
      for (const text of texts) {
        readTraceContext(valid, `${text}\u0001`);
        readTraceContext(valid, `${text}=`);
      }
    });
    expect(ms).toBeLessThan(100);
  });
});

describe('whatever comes', () => {
  const hex = (length: number): fc.Arbitrary<string> =>
    fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => !/^0+$/.test(text));

  property(
    'what is made is read as it was made',
    [hex(32), hex(16), fc.boolean(), fc.boolean()],
    (traceId, parentId, isSampled, isRandom) => {
      const made = { traceId, parentId, isSampled, isRandom };
      const traceparent = traceparentOf(made);
      expect(readTraceContext(traceparent, undefined)).toEqual({ ...made, traceparent, tracestate: undefined });
    },
  );

  property(
    'one character changed makes it another valid one, or none; it never throws',
    [fc.nat(valid.length - 1), fc.string({ minLength: 0, maxLength: 2 }), fc.string()],
    (at, by, tracestate) => {
      const changed = valid.slice(0, at) + by + valid.slice(at + 1);
      const read = readTraceContext(changed, tracestate);
      if (read === undefined) return;
      // By the rules as the standard has them in words.
      const [version = '', traceId = '', parentId = '', flags = ''] = changed.split('-');
      expect([version.length, traceId.length, parentId.length, flags.length]).toEqual([2, 32, 16, 2]);
      expect(changed).toMatch(/^[0-9a-f-]{55}/);
      expect(version).not.toBe('ff');
      expect(version !== '00' || changed.length === 55).toBe(true);
      expect([read.traceId, read.parentId, read.traceparent]).toEqual([traceId, parentId, changed]);
    },
    { numRuns: 2000 },
  );

  property('anything at all is a context or none', [fc.string(), fc.string()], (traceparent, tracestate) => {
    expect(readTraceContext(traceparent, tracestate)).toBeUndefined();
  });
});
