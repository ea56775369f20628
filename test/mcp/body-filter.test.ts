import { describe, expect, test } from 'vitest';
import {
  createDroppingFilter,
  createEventFilter,
  createJsonFilter,
  createUnreadableFilter,
  eventData,
  type Rewriting,
  withData,
} from '../../src/mcp/body-filter.ts';

const LONGEST = 8 * 1024 * 1024;
const changing: Rewriting = { concerns: () => true, rewrite: () => 'changed', mustRead: false };
const reading: Rewriting = { ...changing, mustRead: true };
const blind: Rewriting = {
  concerns: () => false,
  rewrite: () => {
    throw new Error('was read');
  },
  mustRead: true,
};
const spaces = (length: number): Buffer => Buffer.alloc(length, 'x');

describe('a JSON body', () => {
  test('of up to 8 MiB is held until it is complete', () => {
    for (const rewriting of [changing, reading]) {
      const filter = createJsonFilter(rewriting);
      expect(filter.push(spaces(LONGEST))).toEqual([]);
      expect(filter.end().join('')).toBe('changed');
    }
  });

  test('of more passes unread, or is refused where it must be read', () => {
    expect(() => createJsonFilter(reading).push(spaces(LONGEST + 1))).toThrow(RangeError);
    const filter = createJsonFilter(changing);
    expect(filter.push(spaces(LONGEST + 1))).toHaveLength(1);
    expect(filter.end()).toEqual([]);
  });

  test('that holds nothing to change is not decoded', () => {
    const filter = createJsonFilter(blind);
    filter.push(Buffer.from('{}'));
    expect(filter.end().join('')).toBe('{}');
  });
});

describe('an event', () => {
  test.each([
    ['event: endpoint\ndata: /messages?sessionId=1\n\n', true],
    ['event:endpoint\r\ndata: https://x.example/messages\r\n\r\n', true],
    ['event: endpoint\ndata: {"result":{}}\n\n', false],
    ['event: message\ndata: /messages\n\n', false],
    ['data: event: endpoint\n\n', false],
  ])('%j passes unread: %s', (text, goesOn) => {
    const out = createEventFilter(reading).push(Buffer.from(text)).join('');
    expect(out === text).toBe(goesOn);
  });

  test('of up to 8 MiB is held until it is complete', () => {
    for (const rewriting of [changing, reading]) {
      expect(createEventFilter(rewriting).push(spaces(LONGEST))).toEqual([]);
    }
  });

  test('of more passes unread, or is refused where it must be read', () => {
    expect(() => createEventFilter(reading).push(spaces(LONGEST + 1))).toThrow(RangeError);
    expect(createEventFilter(changing).push(spaces(LONGEST + 1))).toHaveLength(1);
  });

  test('that holds nothing to change is not decoded', () => {
    expect(createEventFilter(blind).push(Buffer.from('data: {}\n\n')).join('')).toBe('data: {}\n\n');
  });

  test('that holds nothing to change is not decoded beside one that does', () => {
    const some: Rewriting = {
      concerns: (part) => part.includes('change'),
      rewrite: (text) => `${text} was read`,
      mustRead: false,
    };
    const out = createEventFilter(some).push(Buffer.from('data: other\n\ndata: change\n\n'));
    expect(out.join('')).toBe('data: other\n\ndata: change was read\n\n');
  });

  test('with nothing to change passes together with the other events of its chunk', () => {
    const chunk = Buffer.from('data: {}\n\ndata: {}\r\n\r\n');
    expect(createEventFilter(blind).push(chunk)).toEqual([chunk]);
  });

  test('after the last event the filter has nothing left to send', () => {
    const filter = createEventFilter(changing);
    filter.push(Buffer.from('data: {}\n\n'));
    expect(filter.end()).toEqual([]);
  });

  test('WHATWG HTML §9.2.6: after a BOM at the start of the stream is read', () => {
    expect(createEventFilter(changing).push(Buffer.from('\ufeffdata: {}\n\n')).join('')).toBe('data: changed\n\n');
    const within: Rewriting = { ...changing, rewrite: (text) => (text === '{"a":"\ufeff"}' ? 'changed' : undefined) };
    const event = 'data: {"a":"\ufeff"}\n\n';
    expect(createEventFilter(within).push(Buffer.from(event)).join('')).toBe('data: changed\n\n');
  });

  test.each(['data\n\n', 'data:\n\n', ': comment\n\n'])('without data is no message: %j', (event) => {
    expect(createEventFilter(changing).push(Buffer.from(event)).join('')).toBe(event);
  });
});

describe('HTTP+SSE of 2024-11-05: an event that names the URL for messages', () => {
  test.each([
    'event: endpoint\ndata: /messages?session=a\n\n',
    'event:endpoint\r\ndata: /\r\n\r\n',
    'data: http://tools.example/a\nevent: endpoint\n\n',
    'event: endpoint\ndata: https://tools.example/a\n\n',
  ])('is no message: %j', (event) => {
    expect(createEventFilter(changing).push(Buffer.from(event)).join('')).toBe(event);
  });

  test.each([
    ['event: endpoints\n', '/a'],
    ['event: message\n', '/a'],
    ['x-event: endpoint\n', '/a'],
    ['event: endpoint\n', '{"result":"/a"}'],
    ['event: endpoint\n', '/a {"result":{}}'],
    ['event: endpoint\n', 'ftp://tools.example/a'],
  ])('%j with the data %j is read as a message', (event, data) => {
    const text = `${event}data: ${data}\n\n`;
    expect(createEventFilter(changing).push(Buffer.from(text)).join('')).toBe(`${event}data: changed\n\n`);
  });
});

describe('a body that is not read', () => {
  test('is refused at its first byte if it must be read', () => {
    const filter = createUnreadableFilter();
    expect(() => filter.push(Buffer.from('x'))).toThrow(expect.objectContaining({ reason: 'upstream.invalid' }));
    expect(createUnreadableFilter().end()).toEqual([]);
  });

  test('is dropped if it says nothing', () => {
    const filter = createDroppingFilter();
    expect(filter.push(Buffer.from('x'))).toEqual([]);
    expect(filter.end()).toEqual([]);
  });
});

describe('WHATWG HTML §9.2.6: the data of an event', () => {
  test.each([
    ['data', ''],
    ['data\ndata: a', '\na'],
    ['data:a b', 'a b'],
    ['data:  a', ' a'],
    ['database: x', ''],
    ['id: 1', ''],
  ])('%j is %j', (event, data) => expect(eventData(event)).toBe(data));

  test('is replaced as a whole', () => expect(withData('id: 1\ndata\ndata: a\n\n', 'b')).toBe('id: 1\ndata: b\n\n'));
});

describe('characters of an event that end lines for some readers', () => {
  const same: Rewriting = { concerns: () => true, rewrite: () => undefined, mustRead: true };
  const event = Buffer.from(': a\u0085b\n\tid: \u0007\u2028c\r\ndata: "\u2029\u007F"\r\n\r\n');

  test('are escaped where everything must be read', () => {
    const written = ': a\\u0085b\n\tid: \\u0007\\u2028c\r\ndata: "\\u2029\\u007f"\r\n\r\n';
    expect(createEventFilter(same).push(event).join('')).toBe(written);
    expect(createEventFilter(same).push(Buffer.from(': \u2028\n\n')).join('')).toBe(': \\u2028\n\n');
    expect(createEventFilter(reading).push(event).join('')).toBe(
      ': a\\u0085b\n\tid: \\u0007\\u2028c\ndata: changed\n\n',
    );
  });

  test('are seen as escapes', () => {
    let seen = '';
    const noting: Rewriting = { ...same, rewrite: (text) => void (seen = text) };
    createEventFilter(noting).push(event);
    expect(seen).toBe('"\\u2029\\u007f"');
  });

  test('stay elsewhere, and so does the event', () => {
    expect(createEventFilter({ ...same, mustRead: false }).push(event)).toEqual([event]);
    const plain = Buffer.from('\uFEFFdata: é\tü\n\n');
    expect(createEventFilter(same).push(plain)).toEqual([plain]);
  });
});
