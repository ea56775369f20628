import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createDroppingFilter,
  EventFilter,
  JsonFilter,
  createUnreadableFilter,
  endsEvent,
  EventSplitter,
  eventData,
  type Rewriting,
  subscriptionEnd,
  withData,
} from '../../src/mcp/body-filter.ts';
import type { Action } from '../../src/model/grant.ts';
import { message } from '../policy/caller.ts';
import { property } from '../support/property.ts';
import { runs } from '../support/runs.ts';
import { wordsIn } from '../support/words-in.ts';
import { inPieces } from './in-pieces.ts';

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

/** Changes each `é` of a message that has `list`. */
const marking: Rewriting = {
  concerns: (part) => part.includes('list'),
  rewrite: (text) => (text.includes('é') ? text.replaceAll('é', 'changed') : undefined),
  mustRead: false,
};

describe('a JSON body', () => {
  property('is changed, however it is split into chunks', [fc.array(fc.nat(100))], (cuts) => {
    expect(inPieces(new JsonFilter(marking), Buffer.from('{"list": ["é"]}'), cuts).toString()).toBe(
      '{"list": ["changed"]}',
    );
  });

  test('that is empty stays empty', () => {
    expect(new JsonFilter(reading).end()).toEqual([]);
  });

  test('of up to 8 MiB is held until it is complete', () => {
    for (const rewriting of [changing, reading]) {
      const filter = new JsonFilter(rewriting);
      expect(filter.push(spaces(LONGEST))).toEqual([]);
      expect(filter.end().join('')).toBe('changed');
    }
  });

  test('of more passes unread, or is refused where it must be read', () => {
    expect(() => new JsonFilter(reading).push(spaces(LONGEST + 1))).toThrow(RangeError);
    const filter = new JsonFilter(changing);
    expect(filter.push(spaces(LONGEST + 1))).toHaveLength(1);
    expect(filter.push(Buffer.from('y'))).toEqual([Buffer.from('y')]);
    expect(filter.end()).toEqual([]);
  });

  test('that holds nothing to change is not decoded', () => {
    const filter = new JsonFilter(blind);
    filter.push(Buffer.from('{}'));
    expect(filter.end().join('')).toBe('{}');
  });
});

describe('an event', () => {
  const events = (data: string): string =>
    [
      ': comment é\n\n',
      'event: message\r\nid: 1\r\ndata: {"method":"é"}\r\n\r\n',
      data,
      'data: list, but no change\r\r',
      'retry: 10\n\n',
    ].join('');
  const [received, sent] = [
    events('event: message\r\ndata: {"list":\r\ndata: "é"}\r\nid: 2\r\n\r\n'),
    events('event: message\nid: 2\ndata: {"list":\ndata: "changed"}\n\n'),
  ];

  test.each([true, false])('alone is changed, however the stream is split; must it be read: %s', (mustRead) => {
    fc.assert(
      fc.property(fc.array(fc.nat(400)), (cuts) => {
        const filter = new EventFilter({ ...marking, mustRead });
        expect(inPieces(filter, Buffer.from(received), cuts).toString()).toBe(sent);
      }),
    );
  });

  test('without its end passes only where it need not be read', () => {
    for (const [mustRead, rest] of [
      [true, ''],
      [false, 'data: "é list"\n'],
    ] as const) {
      const filter = new EventFilter({ ...marking, mustRead });
      expect(filter.push(Buffer.from('data: {}\n'))).toEqual([]);
      expect(filter.push(Buffer.from('\ndata: "é list"\n'))).toEqual([Buffer.from('data: {}\n\n')]);
      expect(filter.end().join('')).toBe(rest);
    }
  });

  test('of up to 8 MiB is held until it is complete', () => {
    for (const rewriting of [changing, reading]) {
      expect(new EventFilter(rewriting).push(spaces(LONGEST))).toEqual([]);
    }
  });

  test('of more passes unread, or is refused where it must be read', () => {
    expect(() => new EventFilter(reading).push(spaces(LONGEST + 1))).toThrow(RangeError);
    const filter = new EventFilter(changing);
    expect(filter.push(spaces(LONGEST + 1))).toHaveLength(1);
    expect([...filter.push(Buffer.from('\n\n')), ...filter.end()].join('')).toBe('\n\n');
  });

  test('that holds nothing to change is not decoded', () => {
    expect(new EventFilter(blind).push(Buffer.from('data: {}\n\n')).join('')).toBe('data: {}\n\n');
  });

  test('that holds nothing to change is not decoded beside one that does', () => {
    const some: Rewriting = {
      concerns: (part) => part.includes('change'),
      rewrite: (text) => `${text} was read`,
      mustRead: false,
    };
    const out = new EventFilter(some).push(Buffer.from('data: other\n\ndata: change\n\n'));
    expect(out.join('')).toBe('data: other\n\ndata: change was read\n\n');
  });

  test('with nothing to change passes together with the other events of its chunk', () => {
    const chunk = Buffer.from('data: {}\n\ndata: {}\r\n\r\n');
    expect(new EventFilter(blind).push(chunk)).toEqual([chunk]);
  });

  test('after the last event the filter has nothing left to send', () => {
    const filter = new EventFilter(changing);
    filter.push(Buffer.from('data: {}\n\n'));
    expect(filter.end()).toEqual([]);
  });

  test('WHATWG HTML §9.2.6: after a BOM at the start of the stream is read', () => {
    expect(new EventFilter(changing).push(Buffer.from('\ufeffdata: {}\n\n')).join('')).toBe('data: changed\n\n');
    const within: Rewriting = { ...changing, rewrite: (text) => (text === '{"a":"\ufeff"}' ? 'changed' : undefined) };
    const event = 'data: {"a":"\ufeff"}\n\n';
    expect(new EventFilter(within).push(Buffer.from(event)).join('')).toBe('data: changed\n\n');
  });

  test.each(['data\n\n', 'data:\n\n', ': comment\n\n'])('without data is no message: %j', (event) => {
    expect(new EventFilter(changing).push(Buffer.from(event)).join('')).toBe(event);
  });
});

describe('HTTP+SSE of 2024-11-05: an event that names the URL for messages', () => {
  test.each([
    'event: endpoint\ndata: /messages?session=a\n\n',
    'event:endpoint\r\ndata: /\r\n\r\n',
    'data: http://tools.example/a\nevent: endpoint\n\n',
    'event: endpoint\ndata: https://tools.example/a\n\n',
  ])('is no message: %j', (event) => {
    expect(new EventFilter(reading).push(Buffer.from(event)).join('')).toBe(event);
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
    expect(new EventFilter(changing).push(Buffer.from(text)).join('')).toBe(`${event}data: changed\n\n`);
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
    expect(new EventFilter(same).push(event).join('')).toBe(written);
    expect(new EventFilter(same).push(Buffer.from(': \u2028\n\n')).join('')).toBe(': \\u2028\n\n');
    expect(new EventFilter(reading).push(event).join('')).toBe(': a\\u0085b\n\tid: \\u0007\\u2028c\ndata: changed\n\n');
  });

  test('are seen as escapes', () => {
    let seen = '';
    const noting: Rewriting = { ...same, rewrite: (text) => void (seen = text) };
    new EventFilter(noting).push(event);
    expect(seen).toBe('"\\u2029\\u007f"');
  });

  test('stay elsewhere, and so does the event', () => {
    expect(new EventFilter({ ...same, mustRead: false }).push(event)).toEqual([event]);
    const plain = Buffer.from('\uFEFFdata: é\tü\n\n');
    expect(new EventFilter(same).push(plain)).toEqual([plain]);
  });
});

const piece = fc.constantFrom(
  ...wordsIn`data:b data é`,
  'data: a',
  'id: 1',
  ': c',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  '',
);
const stream = fc.array(piece, { maxLength: 20 }).map((pieces) => Buffer.from(pieces.join('')));

function split(chunks: readonly Buffer[]): readonly string[] {
  const splitter = new EventSplitter(Infinity);
  const events = chunks.flatMap((chunk) => splitter.push(chunk));
  return [...events, splitter.release()].map((event) => event.toString('latin1'));
}

/** The data of each complete event that has data, line by line. */
function dataIn(text: string): readonly string[] {
  const found: string[] = [];
  const data: string[] = [];
  // A CR at the end may be half of a line end.
  for (const line of text
    .replace(/\r$/, '')
    .split(/\r\n|\n|\r/)
    .slice(0, -1)) {
    if (line === '') found.push(data.splice(0).join('\n'));
    else if (line === 'data') data.push('');
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return found.filter((each) => each !== '');
}

describe('WHATWG HTML §9.2 — for any stream', () => {
  property(
    'any chunks give the same events, byte for byte',
    [stream, fc.array(fc.nat(60), { maxLength: 6 })],
    (bytes, cuts) => {
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((one, other) => one - other)];
      const chunks = at.map((from, i) => bytes.subarray(from, at[i + 1] ?? bytes.length));
      expect(split(chunks)).toEqual(split([bytes]));
      expect(split([bytes]).join('')).toBe(bytes.toString('latin1'));
    },
    { numRuns: runs },
  );

  property(
    'each event has the data that the algorithm of the standard reads',
    [stream],
    (bytes) => {
      const data = split([bytes]).slice(0, -1).map(eventData);
      // A reader ignores an event without data.
      expect(data.filter((each) => each !== '')).toEqual(dataIn(bytes.toString('latin1')));
    },
    { numRuns: runs },
  );

  property(
    'after a chunk that ends with an event, at most an empty line is left',
    [stream],
    (bytes) => {
      const splitter = new EventSplitter(Infinity);
      splitter.push(bytes);
      const left = endsEvent(bytes) ? splitter.release().toString() : '';
      expect(['', '\n', '\r\n']).toContain(left);
    },
    { numRuns: runs },
  );

  test('eventData reads the data that withData writes', () => {
    const data = fc.array(fc.stringMatching(/^[^\r\n]{0,8}$/), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(stream, data, (bytes, lines) => {
        const [event = ''] = split([bytes]);
        expect(eventData(withData(event, lines.join('\n')))).toBe(lines.join('\n'));
      }),
      { numRuns: runs },
    );
  });
});

test.each([
  ['data: a\n\n', true],
  ['data: a\r\n\r\n', true],
  ['data: a\n', false],
  ['data: a\r\n', false],
  ['data: a\n\nx', false],
  ['data: a\nx\n', false],
  ['\n', false],
  ['', false],
])('%j ends with an event: %s', (text, ends) => expect(endsEvent(Buffer.from(text))).toBe(ends));

const listen = { era: 'modern', attempt: message('subscriptions/listen'), messageId: 'x' };

test('a subscription of MCP 2026-07-28 ends with the result of its request', () => {
  const event = subscriptionEnd(listen as unknown as Action) ?? '';
  expect(event).toMatch(/^event: message\ndata: .*\n\n$/);
  expect(JSON.parse(event.slice('event: message\ndata: '.length))).toEqual({
    jsonrpc: '2.0',
    id: 'x',
    result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 'x' } },
  });
});

test.each([
  ['the stream of another request', { ...listen, attempt: message('tools/call') }],
  ['a legacy stream', { ...listen, era: 'legacy' }],
  ['a stream over HTTP', { ...listen, attempt: { ...message('subscriptions/listen'), kind: 'http' } }],
])('%s has no event at its end', (_, action) => expect(subscriptionEnd(action as unknown as Action)).toBeUndefined());
