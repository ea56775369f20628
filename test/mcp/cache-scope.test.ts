import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPrivateFilter } from '../../src/mcp/cache-scope.ts';

/** What comes out of `text` in pieces that are cut at `cuts`. */
function filtered(text: string, cuts: readonly number[] = []): string {
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  const filter = createPrivateFilter();
  const out = [0, ...places].flatMap((start, i) => filter.push(bytes.subarray(start, places[i] ?? bytes.length)));
  return Buffer.concat([...out, ...filter.end()]).toString();
}

describe('a public result becomes private', () => {
  const said = '\\"cacheScope\\":\\"public\\"';
  const body = `{"id":1,"result":{"contents":[{"text":"é ${said}"}],"ttlMs":5,"cacheScope" : "public"}}`;

  test('wherever its text is cut, and nothing else changes', () => {
    const wanted = body.replace('"cacheScope" : "public"', '"cacheScope" : "private"');
    fc.assert(
      fc.property(fc.array(fc.nat(200)), (cuts) => {
        expect(filtered(body, cuts)).toBe(wanted);
      }),
    );
  });

  test.each([
    ['{"cacheScope":"public","cacheScope":"public"}', '{"cacheScope":"private","cacheScope":"private"}'],
    ['{"CacheScope":\n\t"public"}', '{"CacheScope":\n\t"private"}'],
    ['data: {"cacheScope":"public"}\n\n', 'data: {"cacheScope":"private"}\n\n'],
    ['{"cacheScope":"private"}', '{"cacheScope":"private"}'],
    ['{"cacheScope":"pub', '{"cacheScope":"pub'],
    ['', ''],
  ])('%j', (text, wanted) => expect(filtered(text)).toBe(wanted));

  test('and each event goes on as it comes', () => {
    const event = 'data: {"method":"notifications/progress"}\n\n';
    expect(createPrivateFilter().push(Buffer.from(event)).join('')).toBe(event);
  });

  test.each([
    ['the beginning of the member', '"cacheScope" :', []],
    ['space before another', ' ', [' ']],
    ['a member with more space than a serializer writes', `"cacheScope":${' '.repeat(200)}`, undefined],
  ])('and nothing is held but what may be the member: %s', (_, text, wanted) => {
    expect(createPrivateFilter().push(Buffer.from(text)).map(String)).toEqual(wanted ?? [text]);
  });

  test('and at its end nothing is left, or the very bytes that were held', () => {
    const filter = createPrivateFilter();
    filter.push(Buffer.from('{}'));
    expect(filter.end()).toEqual([]);
    const bytes = Buffer.from('"cacheScope"\xa0', 'latin1');
    expect(filter.push(bytes)).toEqual([]);
    expect(filter.end()).toEqual([bytes]);
  });
});
