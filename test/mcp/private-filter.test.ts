import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPrivateFilter } from '../../src/mcp/private-filter.ts';
import { property } from '../support/property.ts';
import { inPieces } from './in-pieces.ts';

/** What comes out of `text` in pieces that are cut at `cuts`. */
function filtered(text: string, isEventStream = false, cuts: readonly number[] = []): string {
  return inPieces(createPrivateFilter(isEventStream), Buffer.from(text), cuts).toString();
}

/** The different outputs of `text`: whole, cut at each place alone, at all of them, and at random ones. */
function outputs(text: string, isEventStream: boolean): string[] {
  const places = Array.from(Buffer.from(text), (_, at) => at);
  const cuts = [[], places, ...places.map((at) => [at]), ...fc.sample(fc.array(fc.nat(text.length * 2)), 20)];
  return [...new Set(cuts.map((each) => filtered(text, isEventStream, each)))];
}

const escapedWhole = (text: string): string =>
  text.replaceAll(/./g, (each) => String.raw`\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);

describe('a public result becomes private, however the body is split into chunks', () => {
  const said = '\\"cacheScope\\":\\"public\\"';
  const long = 'x'.repeat(200);
  test.each([
    [
      `{"id":1,"result":{"contents":[{"text":"é ${said}"}],"ttlMs":5,"cacheScope" : "public"}}`,
      `{"id":1,"result":{"contents":[{"text":"é ${said}"}],"ttlMs":5,"cacheScope" : "private"}}`,
    ],
    ['{"cacheScope":"public","cacheScope":"public"}', '{"cacheScope":"private","cacheScope":"private"}'],
    ['{"CacheScope":\n\t"public"}', '{"CacheScope":\n\t"private"}'],
    [String.raw`{"cacheScope":"\u0070ublic"}`, '{"cacheScope":"private"}'],
    [String.raw`{"cache\u0053cope":"public"}`, String.raw`{"cache\u0053cope":"private"}`],
    [`{"${escapedWhole('cacheScope')}":"${escapedWhole('public')}"}`, `{"${escapedWhole('cacheScope')}":"private"}`],
    [`{"cacheScope":${' '.repeat(300)}"public"}`, `{"cacheScope":${' '.repeat(300)}"private"}`],
    [`{"text":"${long}${said}\\\\","cacheScope":"public"}`, `{"text":"${long}${said}\\\\","cacheScope":"private"}`],
    ['{"cacheScope":"private"}', '{"cacheScope":"private"}'],
    ['{"cacheScope":5,"public":"public"}', '{"cacheScope":5,"public":"public"}'],
    ['["cacheScope","public"]', '["cacheScope","public"]'],
    [String.raw`{"a":"\"","cacheScope":"public"}`, String.raw`{"a":"\"","cacheScope":"private"}`],
    [`{"${long}cacheScope":"public"}`, `{"${long}cacheScope":"public"}`],
    [`{"${long}":"public","cacheScope":"public"}`, `{"${long}":"public","cacheScope":"private"}`],
    [`{"a":"${long}\\"","cacheScope":"public"}`, `{"a":"${long}\\"","cacheScope":"private"}`],
    [`{"cacheScope":"${long}","a":"public"}`, `{"cacheScope":"${long}","a":"public"}`],
    ['{"cacheScope":"pub', '{"cacheScope":"pub'],
    [String.raw`{"cacheScope":"\q","public":1}`, String.raw`{"cacheScope":"\q","public":1}`],
    ['', ''],
  ])('%j', (text, wanted) => expect(outputs(text, false)).toEqual([wanted]));

  test.each([
    ['data: {"cacheScope":"public"}\n\n', 'data: {"cacheScope":"private"}\n\n'],
    ['\uFEFFdata:{"cacheScope":"public"}\r\n\r\n', '\uFEFFdata:{"cacheScope":"private"}\r\n\r\n'],
    ['data: {"cacheScope":\ndata: "public"}\n\n', 'data: {"cacheScope":\ndata: "private"}\n\n'],
    [
      'data: {"cacheScope":\rid: 1, "x"\r: a " quote\rdata:"public"}\r\r',
      'data: {"cacheScope":\rid: 1, "x"\r: a " quote\rdata:"private"}\r\r',
    ],
    [`data: "${long}\ndata: {"cacheScope":"public"}\n\n`, `data: "${long}\ndata: {"cacheScope":"private"}\n\n`],
    ['data: "unended\n\n', 'data: "unended\n\n'],
    [': data:"cacheScope":"public"\n\n', ': data:"cacheScope":"public"\n\n'],
    ['event: "\ndata: {"cacheScope":"public"}\n\n', 'event: "\ndata: {"cacheScope":"private"}\n\n'],
    ['data\ndatabase: "cacheScope"\ndata: "public"\n\n', 'data\ndatabase: "cacheScope"\ndata: "public"\n\n'],
  ])('in an event stream: %j', (text, wanted) => expect(outputs(text, true)).toEqual([wanted]));

  property(
    'and any JSON text without such a member passes unchanged',
    [fc.json(), fc.array(fc.nat(500))],
    (text, cuts) => {
      fc.pre(!/scope/i.test(text));
      expect(filtered(text, false, cuts)).toBe(text);
    },
  );
});

test('each event passes at once', () => {
  const event = 'data: {"method":"notifications/progress"}\n\n';
  expect(createPrivateFilter(true).push(Buffer.from(event)).join('')).toBe(event);
});

test.each([
  ['a long string', false, `{"text":"${'x'.repeat(200)}`],
  ['a string as soon as it is too long to count', false, `"${'x'.repeat(61)}`],
  ['the beginning of a line that is no data', true, 'id'],
])('%s passes as it comes', (_, isEventStream, text) => {
  expect(createPrivateFilter(isEventStream).push(Buffer.from(text)).join('')).toBe(text);
});

test('the end of the body releases the held bytes unchanged', () => {
  const filter = createPrivateFilter(false);
  filter.push(Buffer.from('{}'));
  expect(filter.end()).toEqual([]);
  const bytes = Buffer.from('"cacheScope\xa0', 'latin1');
  expect(filter.push(bytes)).toEqual([]);
  expect(filter.end()).toEqual([bytes]);
});
