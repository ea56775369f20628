import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Denial } from '../../src/core/model/denial.ts';
import type { Rewriting } from '../../src/mcp/body-filter.ts';
import { endsEvent, EventFilter, EventScanner, eventData, withData } from '../../src/mcp/event-filter.ts';
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
/** Changes each `é` of a message that has `list`. */
const marking: Rewriting = {
  concerns: (part) => part.includes('list'),
  rewrite: (text) => (text.includes('é') ? text.replaceAll('é', 'changed') : undefined),
  mustRead: false,
};

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

  /** The text itself where its line ends must stay. */
  const lines = (text: string, mustRead: boolean): readonly string[] => (mustRead ? text.split(/\r\n|\n|\r/) : [text]);

  test.each([true, false])('alone is changed, however the stream is split; must it be read: %s', (mustRead) => {
    fc.assert(
      fc.property(fc.array(fc.nat(400)), (cuts) => {
        const filter = new EventFilter({ ...marking, mustRead });
        const passed = inPieces(filter, Buffer.from(received), cuts).toString();
        expect(lines(passed, mustRead)).toEqual(lines(sent, mustRead));
      }),
    );
  });

  test('without its end passes only where it need not be read', () => {
    for (const [mustRead, rest] of [
      [true, ''],
      [false, 'data: {"é list"}\n'],
    ] as const) {
      const filter = new EventFilter({ ...marking, mustRead });
      expect(filter.push(Buffer.from('data: {}\n'))).toEqual([]);
      expect(filter.push(Buffer.from('\ndata: {"é list"}\n'))).toEqual([Buffer.from('data: {}\n\n')]);
      expect(filter.end().join('')).toBe(rest);
    }
  });

  test('of up to 8 MiB is held until it is complete', () => {
    for (const rewriting of [changing, reading]) {
      expect(new EventFilter(rewriting).push(Buffer.alloc(LONGEST, '{'))).toEqual([]);
    }
  });

  test('of exactly 8 MiB is read', () => {
    const event = Buffer.alloc(LONGEST, 'x');
    event.write('data: {');
    event.write('}\n\n', LONGEST - 3);
    for (const rewriting of [changing, reading]) {
      expect(new EventFilter(rewriting).push(event).join('')).toBe('data: changed\n\n');
    }
  });

  test('of more passes in one chunk if it is no message, whatever follows', () => {
    const event = Buffer.alloc(LONGEST + 1, '\n');
    event.fill(':', 0, LONGEST - 1);
    const [passed] = new EventFilter(reading).push(Buffer.concat([event, Buffer.from('{')]));
    expect(passed?.equals(event)).toBe(true);
  });

  test('of more passes unread, or is dropped where it must be read', () => {
    for (const [rewriting, passed] of [
      [changing, LONGEST + 3],
      [reading, 0],
    ] as const) {
      const filter = new EventFilter(rewriting);
      const sent = ['{', '{'.repeat(LONGEST), '\n\n'].flatMap((part) => filter.push(Buffer.from(part)));
      expect(Buffer.concat(sent).length).toBe(passed);
      expect(filter.push(Buffer.from('data: {}\n\n')).join('')).toBe('data: changed\n\n');
    }
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
    const out = new EventFilter(some).push(Buffer.from('data: {other}\n\ndata: {change}\n\n'));
    expect(out.join('')).toBe('data: {other}\n\ndata: {change} was read\n\n');
  });

  test('with nothing to change passes together with the other events of its chunk', () => {
    const chunk = Buffer.from('data: {}\n\ndata: {}\r\n\r\n');
    expect(new EventFilter(blind).push(chunk)).toEqual([chunk]);
  });

  test('that was read and stays as it is passes together with the others', () => {
    const noting: Rewriting = { concerns: () => true, rewrite: () => undefined, mustRead: true };
    const chunk = Buffer.from('data: {}\n\ndata: {}\n\n');
    expect(new EventFilter(noting).push(chunk)).toEqual([chunk]);
  });

  test('is refused as its reader refuses it', () => {
    const denial = new Denial('upstream.invalid', 'two readings');
    const refusing: Rewriting = {
      ...reading,
      rewrite: () => {
        throw denial;
      },
    };
    expect(() => new EventFilter(refusing).push(Buffer.from('data: {}\n\n'))).toThrow(denial);
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
    'event: endpoint\ndata: /messages?session={a}\n\n',
    'event:endpoint\r\ndata: /{\r\n\r\n',
    'data: http://tools.example/{a}\nevent: endpoint\n\n',
    'event: endpoint\ndata: https://tools.example/{a}\n\n',
  ])('is no message: %j', (event) => {
    expect(new EventFilter(reading).push(Buffer.from(event)).join('')).toBe(event);
  });

  test.each([
    ['event: endpoints\n', '/{a}'],
    ['event: message\n', '/{a}'],
    ['x-event: endpoint\n', '/{a}'],
    ['event: endpoint\n', '{"result":"/a"}'],
    ['event: endpoint\n', '/a {"result":{}}'],
    ['event: endpoint\n', 'ftp://tools.example/{a}'],
  ])('%j with the data %j is read as a message', (event, data) => {
    const text = `${event}data: ${data}\n\n`;
    expect(new EventFilter(changing).push(Buffer.from(text)).join('')).toBe(`${event}data: changed\n\n`);
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

describe('an event where everything must be read', () => {
  const same: Rewriting = { concerns: () => true, rewrite: (text) => void JSON.parse(text), mustRead: true };
  const through = (event: string | Buffer, rewriting = same): string => {
    const filter = new EventFilter(rewriting, () => false);
    return Buffer.concat([...filter.push(Buffer.from(': first\n\n')), ...filter.push(Buffer.from(event))])
      .subarray(': first\n\n'.length)
      .toString('latin1');
  };
  const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

  test.each([
    ['that no client takes for a message', 'event: ping\ndata: ping\n\n'],
    ['with a control character in its id', 'id: \u0007\u0001\r\ndata: {}\r\n\r\n'],
    ['with a BOM before its message', 'data: \uFEFF{}\n\n'],
    ['with a line separator and no object', ': \u2028\n\n'],
    ['with an object in a comment', ': {\n\n'],
    ['with the name of data in its id', 'id: data: {\ndata: {}\n\n'],
    ['with bytes that are not UTF-8, and no object', Buffer.from('data: \xff\n\n', 'latin1')],
    ['that is blank', '\n\r\n\n'],
  ])('passes as it came: one %s', (_what, event) => {
    expect(through(event)).toBe(Buffer.from(event).toString('latin1'));
  });

  test.each([
    ['text that is not JSON', 'data: {ping}\n\n'],
    ['two BOMs', 'data: \uFEFF\uFEFF{}\n\n'],
    ['bytes that are not UTF-8', Buffer.from('data: {"a":"\xff"}\n\n', 'latin1')],
    ['a control character in its message', 'data: {"a":"\u0007"}\n\n'],
    ['data behind a line separator', ': a\u2028data: {}\n\n'],
    ['data behind a vertical tab', 'id: 1\vdata: {}\n\n'],
    ['data behind a BOM', '\uFEFFdata: {}\n\n'],
    ['data in capital letters', 'Data: {}\n\n'],
    ['data behind a space', ' data: {}\n\n'],
    ['data before a space', 'data : {}\n\n'],
    ['data behind the bytes of a BOM as characters, which eventsource-parser drops', '\xEF\xBB\xBFdata: {}\n\n'],
  ])('is dropped alone if it has %s', (_what, event) => {
    expect(through(event)).toBe('');
    expect(through(Buffer.concat([Buffer.from(event), Buffer.from('data: {}\n\n')]))).toBe('data: {}\n\n');
  });

  test('ends its lines with LF or CRLF alone, since readers that know no CR would find other data', () => {
    const stream = 'data:\r{"a":1}\n\ndata: \r\r{"b":1}\r\n\r\nid: 1\rdata: {}\r\r';
    const sent = 'data:\n{"a":1}\n\ndata: \n\n{"b":1}\r\n\r\nid: 1\ndata: {}\n\n';
    expect(through(stream)).toBe(sent);
    for (let cut = 0; cut < stream.length; cut += 1) {
      const cuts = inPieces(new EventFilter(same), Buffer.from(stream), [cut]).toString();
      expect(cuts.replaceAll('\r\n', '\n')).toBe(sent.replaceAll('\r\n', '\n'));
      expect(cuts).not.toMatch(/\r(?!\n)/);
    }
  });

  test('ends its lines alike where an empty chunk stands between CR and LF', () => {
    const filter = new EventFilter(same);
    for (const chunk of ['data: {\r', '', '\n']) expect(filter.push(Buffer.from(chunk))).toEqual([]);
    expect(filter.push(Buffer.from('data: }\n\n')).join('')).toBe('data: {\ndata: }\n\n');
  });

  test('leaves the received bytes to others that read them', () => {
    const chunk = Buffer.from('data: {}\r\r');
    new EventFilter(same).push(chunk);
    expect(String(chunk)).toBe('data: {}\r\r');
  });

  test('has no BOM, although the chunk before it held nothing to read', () => {
    const list: Rewriting = { ...same, concerns: (part) => part.includes('list') };
    const filter = new EventFilter(list);
    expect(filter.push(Buffer.from(': first\n\n')).join('')).toBe(': first\n\n');
    expect(filter.push(Buffer.from('\uFEFFdata: {"list":1}\n\n'))).toEqual([]);
  });

  test('has escapes for the separators at which some readers end a line', () => {
    const event = 'data: {"a":"\u2028\u2029\u0085\u007F"}\n\n';
    expect(through(event)).toBe(latin1('data: {"a":"\\u2028\\u2029\\u0085\u007F"}\n\n'));
    let seen = '';
    through(event, { ...same, rewrite: (text) => void (seen = text) });
    expect(seen).toBe('{"a":"\\u2028\\u2029\\u0085\u007F"}');
  });

  describe('and the answer of its request was dropped', () => {
    const broken = Buffer.from('data: {"a":\n\n');
    const refusal = expect.objectContaining({ reason: 'upstream.invalid' }) as Error;
    const answering = (): EventFilter => new EventFilter(same, (text) => text.includes('answer'));

    test.each<[string, readonly Buffer[]]>([
      ['unreadable', [broken]],
      ['too long', [Buffer.alloc(LONGEST + 1, '{'), Buffer.from('\n\n')]],
      ['without its end', [Buffer.from('data: {}\n')]],
      ['before another message', [broken, Buffer.from('data: {}\n\n')]],
    ])('is refused at its end: %s', (_what, chunks) => {
      const filter = answering();
      for (const chunk of chunks) filter.push(chunk);
      expect(() => filter.end()).toThrow(refusal);
    });

    test('a stream that ends without its answer is none of these', () => {
      const filter = answering();
      filter.push(Buffer.from('data: {}\n\n'));
      expect(filter.end()).toEqual([]);
    });

    test('unless the answer follows, or the stream answers no request', () => {
      const filter = answering();
      filter.push(broken);
      filter.push(Buffer.from('data: {"answer":1}\n\n'));
      expect(filter.end()).toEqual([]);
      const stream = new EventFilter(same);
      stream.push(broken);
      expect(stream.end()).toEqual([]);
    });
  });
});

describe('an event that need not be read', () => {
  test.each([
    ['bytes that are not UTF-8', Buffer.from('data: {"a":"\xff"}\n\n', 'latin1')],
    ['text that is not JSON', Buffer.from('data: {ping}\n\n')],
    ['separators of lines', Buffer.from(': a\u0085b\n\tid: \u0007\u2028c\r\ndata: {"\u2029\u007F":1}\r\n\r\n')],
  ])('passes with %s', (_what, event) => {
    const parsing: Rewriting = { concerns: () => true, rewrite: (text) => void JSON.parse(text), mustRead: false };
    expect(Buffer.concat(new EventFilter(parsing).push(event)).equals(event)).toBe(true);
  });
});

describe('what passes as it came', () => {
  test('passes in one piece, between events that are changed', () => {
    const same = ['\n'.repeat(50_000), 'event: ping\ndata: 1\n\n', ':\n\n'.repeat(1000)].join('');
    const sent = new EventFilter(reading).push(Buffer.from(`${same}data: {}\n\n${same}`));
    expect(sent.map(String)).toEqual([same, 'data: changed\n\n', same]);
  });

  test.each(['\r', '\n', '\r\n'])('passes at once with the line end %j, without what may follow', (end) => {
    const filter = new EventFilter(reading);
    const event = `data: {}${end}${end}`;
    expect(filter.push(Buffer.from(event)).join('')).toBe('data: changed\n\n');
    expect(filter.push(Buffer.from('\n')).join('')).toBe(end === '\r' ? '' : '\n');
    expect(filter.push(Buffer.from(`: a${end}${end}`)).join('')).toBe(end === '\r' ? ': a\n\n' : `: a${end}${end}`);
    expect(filter.push(Buffer.from('\n')).join('')).toBe(end === '\r' ? '' : '\n');
  });
});

describe('a stream that need not be read', () => {
  const some: Rewriting = { ...changing, concerns: (part) => part.includes('list') };
  const sent = (...chunks: readonly string[]): readonly string[] => {
    const filter = new EventFilter(some);
    return chunks.map((chunk) => filter.push(Buffer.from(chunk)).join(''));
  };
  const [event, changed] = ['data: {"list":1}', 'data: changed\n\n'];

  test.each([
    ['the rest of the line end of a changed event is dropped', [`${event}\r\r`, '\n'], [changed, '']],
    ['also behind an empty chunk', [`${event}\r\r`, '', '\n'], [changed, '', '']],
    ['an empty line behind it passes', [`${event}\r\r`, '\n\n:'], [changed, '\n']],
    ['the rest of a line end that stays passes', ['event: ping\r\r', '\n'], ['event: ping\r\r', '\n']],
    ['an event behind a CR is changed', [`${event}\r\r`, `${event}\n\n`], [changed, changed]],
    ['an empty line at the beginning passes at once', ['\n', '\n'], ['\n', '\n']],
    [
      'an empty line behind a chunk that passes is no rest of a line end',
      [`${event}\r\r`, ': ping\n\n', `\n${event}\n\n`],
      [changed, ': ping\n\n', `\n${changed}`],
    ],
    ['and passes at once', [': ping\n\n', '\n'], [': ping\n\n', '\n']],
  ])('%s', (_what, chunks, expected) => expect(sent(...chunks)).toEqual(expected));
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

/** The events of a stream, each with the rest of the line end before it, and then what has no end. */
function split(chunks: readonly Buffer[]): readonly string[] {
  const scanner = new EventScanner();
  const events: string[] = [];
  let open = '';
  for (const chunk of chunks) {
    const ends = scanner.in(chunk);
    let start = 0;
    for (let end = ends.next(start); end !== -1; end = ends.next(start)) {
      events.push(open + chunk.toString('latin1', start, end));
      open = '';
      start = end;
    }
    open += chunk.toString('latin1', start);
  }
  return [...events, open];
}

/** The data of each complete event that has data, line by line. */
function dataIn(text: string): readonly string[] {
  const found: string[] = [];
  const data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/).slice(0, -1)) {
    if (line === '') found.push(data.splice(0).join('\n'));
    else if (line === 'data') data.push('');
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return found.filter((each) => each !== '');
}

test.each([
  [['\n'], ['\n', '']],
  [['a\r\rb\r\r'], ['a\r\r', 'b\r\r', '']],
  [['a\r\n\r\nb\n'], ['a\r\n\r\n', 'b\n']],
  [
    ['a\r\r', '\nb\n\n'],
    ['a\r\r', '\nb\n\n', ''],
  ],
])('WHATWG HTML §9.2: %j are the events %j', (chunks, events) => {
  expect(split(chunks.map((chunk) => Buffer.from(chunk)))).toEqual(events);
});

test('a scanner that begins again knows no line end before', () => {
  const scanner = new EventScanner();
  expect(scanner.in(Buffer.from('a\r\r')).next(0)).toBe(3);
  scanner.restart();
  expect(scanner.in(Buffer.from('\n')).restOfLineEnd()).toBe(0);
  expect(scanner.in(Buffer.from('\n')).next(0)).toBe(1);
});

describe('WHATWG HTML §9.2 — for any stream', () => {
  property(
    'any chunks give the same data, byte for byte',
    [stream, fc.array(fc.nat(60), { maxLength: 6 })],
    (bytes, cuts) => {
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((one, other) => one - other)];
      const chunks = at.map((from, i) => bytes.subarray(from, at[i + 1] ?? bytes.length));
      expect(split(chunks).map(eventData)).toEqual(split([bytes]).map(eventData));
      expect(split(chunks).join('')).toBe(bytes.toString('latin1'));
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
    'after a chunk that ends with an event, nothing is left',
    [stream],
    (bytes) => {
      const left = endsEvent(bytes) ? split([bytes]).at(-1) : '';
      expect(left).toBe('');
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
