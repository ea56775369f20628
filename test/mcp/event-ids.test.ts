import { array, assert, constantFrom, nat, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventIdFilter } from '../../src/mcp/event-id-filter.ts';
import { words } from '../support/words.ts';
import { inPieces } from './in-pieces.ts';

const bind = (id: string): string => `<${id}>`;

/** What comes out of `text` in pieces that are cut at `cuts`. */
function through(text: string, cuts?: readonly number[]): string {
  return inPieces(new EventIdFilter(bind), Buffer.from(text, 'latin1'), cuts).toString('latin1');
}

/** What goes on at once when `text` has come. */
function atOnce(text: string): readonly string[] {
  return new EventIdFilter(bind).push(Buffer.from(text, 'latin1')).map((piece) => piece.toString('latin1'));
}

const bom = Buffer.from('\uFEFF').toString('latin1');
const much = 'x'.repeat(5000);
/** A line of 4095 bytes. */
const longest = `id: ${'x'.repeat(4091)}`;

describe('WHATWG HTML §9.2 — the ids of an event stream', () => {
  test.each([
    ['with a space, which is none of it', 'id: 1\ndata: a\n\n', 'id: <1>\ndata: a\n\n'],
    ['without', 'id:1\n\n', 'id:<1>\n\n'],
    ['with two, of which one is', 'id:  1\n\n', 'id: < 1>\n\n'],
    ['behind the data', 'data: a\nid: 1\n\n', 'data: a\nid: <1>\n\n'],
    ['several in one event', 'id: 1\nid: 2\n\n', 'id: <1>\nid: <2>\n\n'],
    ['CRLF', 'id: 1\r\ndata: a\r\n\r\nid: 2\r\n\r\n', 'id: <1>\r\ndata: a\r\n\r\nid: <2>\r\n\r\n'],
    ['CR', 'data: a\rid: 1\r\r', 'data: a\rid: <1>\r\r'],
    ['behind a BOM', `${bom}id: 1\n\n`, `${bom}id: <1>\n\n`],
    ['bytes that are no ASCII', 'id: \xc3\xa9\n', 'id: <\xc3\xa9>\n'],
    ['a colon in it', 'id: a:b\n', 'id: <a:b>\n'],
  ])('%s', (_, text, wanted) => {
    expect(through(text)).toBe(wanted);
    expect(
      through(
        text,
        Array.from({ length: text.length }, (_cut, i) => i),
      ),
    ).toBe(wanted);
  });

  test.each([
    ['before much data', `id: 1\ndata: ${much}\n\n`, `id: <1>\ndata: ${much}\n\n`],
    ['behind much data', `data: ${much}\nid: 1\n\n`, `data: ${much}\nid: <1>\n\n`],
    ['the longest that a header carries', `${longest}\n`, `id: <${longest.slice(4)}>\n`],
  ])('%s', (_, text, wanted) => {
    expect(through(text)).toBe(wanted);
    expect(through(text, [1, 4, 4095])).toBe(wanted);
  });

  test.each([
    ['an empty one, which resets', 'id:\n\nid: \n\nid\n\n'],
    ['one with NUL, which is none', 'id: a\0b\n\n'],
    ['one that no header carries', 'id: a\x1bb\n\n'],
    ['text in the data', 'data: id: 1\ndata:id: 2\n\n'],
    ['another field', 'idx: 1\nID: 1\n id: 1\nevent: id: 1\nretry: 1\n: id: 1\n\n'],
    ['a BOM that is not at the start', `data: a\n\n${bom}id: 1\n\n`],
    ['half a BOM, which is part of its line', `${bom.slice(0, 2)}id: 1\n\n`],
    ['a field whose name begins with the letter of an id', 'iid: 1\n\n'],
    ['a line without its end', 'data: a\n\nid: 1'],
    ['nothing', ''],
    ['one that is too long for a header', `id: ${much}\n\n`],
    ['one that is too long by a byte', `${longest}x\n\n`],
  ])('leaves %s', (_, text) => {
    expect(through(text)).toBe(text);
    expect(through(text, [1, 2, 3, 4, 5, 9, 4097])).toBe(text);
    expect(through(text, [4096])).toBe(text);
  });

  test('finds each id, however the stream is split into chunks', () => {
    const piece = constantFrom(
      'id: 1',
      'data: a',
      ' ',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      '\xff',
      bom,
      ...words('id: id i d :'),
    );
    assert(
      property(array(piece, { maxLength: 30 }), array(nat(200)), (pieces, cuts) => {
        const text = pieces.join('');
        const wanted = text.replaceAll(
          /(?<=^(?:\xef\xbb\xbf)?|[\r\n])(id:(?: |(?! )))([\t\x20-\x7e\x80-\xff]+)(?=[\r\n])/g,
          (_, field: string, id: string) => field + bind(id),
        );
        expect(through(text, cuts)).toBe(wanted);
      }),
    );
  });

  test.each([
    ['an event without an id', 'data: a\n\n', 'data: a\n\n'],
    ['half a line that is none', 'data: a', 'data: a'],
    ['the first byte of one', 'd', 'd'],
    ['a BOM', bom, bom],
    ['half a BOM', bom.slice(0, 2), bom.slice(0, 2)],
    ['what may become an id is held', 'data: a\n\ni', 'data: a\n\n'],
    ['an id without its end is held', 'data: a\n\nid: 1', 'data: a\n\n'],
    ['behind much data too', `data: ${much}\n\nid: 1`, `data: ${much}\n\n`],
    ['an id goes on with the end of its line', 'id: 1\nda', 'id: <1>\nda'],
    ['a line that is too long for an id', `${longest}x`, `${longest}x`],
    ['a word that ends like the beginning of an id', 'data: hi', 'data: hi'],
  ])('passes at once, in one piece: %s', (_, text, wanted) => expect(atOnce(text)).toEqual([wanted]));

  test.each(['i', 'id: 1', longest, ''])('holds back what may become an id: %j', (text) =>
    expect(atOnce(text)).toEqual([]),
  );

  test('passes the same buffer where nothing changes', () => {
    // Not from the memory that small buffers share.
    const chunk = Buffer.alloc(16, 'data: {"id":1}\n\n');
    const filter = new EventIdFilter(bind);
    const [passed] = filter.push(chunk);
    expect(passed?.buffer).toBe(chunk.buffer);
    expect(filter.end()).toEqual([]);
  });
});
