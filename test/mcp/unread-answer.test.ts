import { describe, expect, test } from 'vitest';
import type { Rewriting } from '../../src/mcp/body-filter.ts';
import { EventFilter } from '../../src/mcp/event-filter.ts';
import { UnreadAnswer } from '../../src/mcp/unread-answer.ts';

const LONGEST = 8 * 1024 * 1024;

const FIRST = 40;

/** What passes of bytes that arrive in pieces; undefined where they do not prove to be the answer. */
function passes(
  text: string | Buffer,
  { id = 7, pieces = 1 }: { readonly id?: string | number; readonly pieces?: number } = {},
): string | undefined {
  const answer = new UnreadAnswer(id);
  const bytes = Buffer.from(text);
  const passed: Buffer[] = [];
  // The first piece holds what stands before the message: 8 MiB are held by then.
  for (let at = 0, end = FIRST; at < bytes.length; at = end, end += pieces) {
    const part = answer.pass(bytes.subarray(at, end));
    if (part === undefined) return undefined;
    passed.push(part);
  }
  return answer.isComplete ? Buffer.concat(passed).toString() : undefined;
}
const lines = 'event: message\nid: 1_2\ndata: ';
const end = '\n\n';

describe('the answer to a call passes', () => {
  test.each<readonly [what: string, message: string, id?: string | number]>([
    ['with its id first', '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"tools"}]}}'],
    ['with its id last', '{"result":{"content":[]},"jsonrpc":"2.0","id":7}'],
    ['with spaces', '{ "jsonrpc" : "2.0" , "id" : 7 , "result" : { "a" : [ 1 , -2.5e+3 , true , null ] } }'],
    ['with a text as its id', '{"id":"7\\u0061\\"}","result":{}}', '7a"}'],
    ['with a list as another message would have it', '{"id":7,"result":{"tools":[{"id":8,"method":"x"}]}}'],
    ['with characters of all lengths', '{"id":7,"result":{"é€😀\\\\":"\\"}]\\n\\u2028"}}'],
    ['with escapes of all kinds', String.raw`{"id":7,"result":{"a":"\"\\\/\b\f\n\r\t\u00e9\uABCD"}}`],
  ])('%s', (_what, message, id = 7) => {
    for (const pieces of [1, 3, 1000]) {
      expect(passes(lines + message + end, { id, pieces })).toBe(lines + message + end);
    }
  });

  test.each(['data:', ': a comment\ndata: ', 'retry: 5\r\ndata: '])('behind %j', (before) => {
    const event = `${before}{"id":7,"result":{}}\n\n`;
    expect(passes(event)).toBe(event);
  });

  test('with escapes for the characters at which some readers end a line', () => {
    const message = (a: string): string => `data: {"id":7,"result":{"text":"${a}"}}\r\n\r\n`;
    expect(passes(message('a\u2028b\u0085'))).toBe(message('a\\u2028b\\u0085'));
  });
});

describe('an event does not pass whole', () => {
  test.each([
    ['of another id', '{"id":8,"result":{}}'],
    ['of another type of id', '{"id":"7","result":{}}'],
    ['of null', '{"id":null,"result":{}}'],
    ['without an id', '{"jsonrpc":"2.0","result":{}}'],
    ['without a result', '{"jsonrpc":"2.0","id":7}'],
    ['with two ids', '{"id":7,"result":{},"id":8}'],
    ['with two ids that are equal', '{"id":7,"result":{},"id":7}'],
    ['with another id in capitals', '{"id":7,"result":{},"ID":8}'],
    ['with another id that is escaped', '{"id":7,"result":{},"\\u0069d":8}'],
    ['with two results', '{"id":7,"result":{},"result":{"tools":[]}}'],
    ['with a result that is a text', '{"id":7,"result":"{}"}'],
    ['of a request', '{"id":7,"method":"x","params":{}}'],
    ['with a method', '{"id":7,"result":{},"method":"x"}'],
    ['of a batch', '[{"id":7,"result":{}}]'],
    ['with another message behind it', '{"id":7,"result":{}}{"id":8,"result":{}}'],
    ['with another message on the next line', '{"id":7,"result":{}}\ndata: {"id":8,"result":{}}'],
    ['with a message that goes on in the next line', '{"id":7,\ndata: "result":{}}'],
    ['with a line of another kind behind it', '{"id":7,"result":{}}\u2028data: {"id":8}'],
    ['with a string that other parsers know', `{"id":7,"result":{'a":1}`],
    ['with a comment', '{"id":7,"result":{/*"*/}}'],
    ['with a control character', '{"id":7,"result":{"a":"\v"}}'],
    ['with an escaped line end', '{"id":7,"result":{"a":"\\\n"}}'],
    ['with an escape that JSON does not have', String.raw`{"id":7,"result":{"a":"\x"}}`],
    ['with an escape that is a space', String.raw`{"id":7,"result":{"a":"\ "}}`],
    [
      'with an escape of three digits, behind which some parsers skip the quote',
      String.raw`{"id":7,"result":{"a":"\u000""}}`,
    ],
    ['with an escape of two digits', String.raw`{"id":7,"result":{"a":"\u00"}}`],
    ['with an escape of other digits', String.raw`{"id":7,"result":{"a":"\ug000"}}`],
    ['with a list that another character ends', '{"id":7,"result":{"a":[1/}}'],
    ['with a number that JSON does not have', '{"id":7-,"result":{}}'],
    ['with two commas', '{"id":7,,"result":{}}'],
    ['with a comma at its end', '{"id":7,"result":{},}'],
    ['with two numbers', '{"id":7 8,"result":{}}'],
    ['with an id in words', '{"id":true,"result":{}}'],
    ['with a list as its id', '{"id":[7],"result":{}}'],
    ['with a key of any length', `{"${'i'.repeat(9000)}":7}`],
    ['without its end', '{"id":7,"result":{}'],
  ])('%s', (_what, message) => {
    for (const pieces of [1, 1000]) expect(passes(`${lines}${message}${end}`, { pieces })).toBeUndefined();
  });

  test.each([
    ['data in another spelling', 'Data: {}\ndata: {"id":7,"result":{}}\n\n'],
    ['data behind a space', ' data: {}\ndata: {"id":7,"result":{}}\n\n'],
    ['data in another spelling that names data in its text', 'Data: {"id":7,"result":{"a":"data: {"}}\n\n'],
    ['a BOM', '\ufeffdata: {"id":7,"result":{}}\n\n'],
    ['two lines of data', 'data: {}\ndata: {"id":7,"result":{}}\n\n'],
    ['a line separator', 'id: \u2028\ndata: {"id":7,"result":{}}\n\n'],
    ['no data', 'event: message\n\n'],
    ['bytes that are not UTF-8', Buffer.from('data: {"id":7,"result":{"a":"\xc0\xa2"}}\n\n', 'latin1')],
  ])('with %s', (_what, text) => {
    expect(passes(text)).toBeUndefined();
    expect(new UnreadAnswer(7).pass(Buffer.from(text))).toBeUndefined();
  });

  test('with bytes that are not UTF-8 behind much that is', () => {
    const answer = new UnreadAnswer(7);
    expect(answer.pass(Buffer.from('data: {"id":7,"result":{"a":"'))).toBeDefined();
    expect(answer.pass(Buffer.from('\xc0\xa2', 'latin1'))).toBeUndefined();
  });

  test.each([
    '{{',
    '{:',
    '{,',
    '{}',
    '{1',
    '{"id""',
    '{"id",',
    '{"id"{',
    '{"id"7',
    '{"id":,',
    '{"id":{',
    '{"id":8,',
    '{"id":7:',
    '{"id":7"',
    '{"id":7 "',
    '{"id":7 7',
    '{"id":7{',
    '{"id":7}',
    '{"jsonrpc":2',
    '{"jsonrpc":{',
    '{"result"{',
    '{"result":"',
    '{"result":1',
    '{"result":[',
    '{"result":{}:',
    '{"result":{}"',
    '{"result":{}1',
    '{"result":{}}',
  ])('from the last character of %s on', (message) => {
    const answer = new UnreadAnswer(7);
    const event = `data: ${message}`;
    expect(answer.pass(Buffer.from(event.slice(0, -1)))).toBeDefined();
    expect(answer.pass(Buffer.from(event.slice(-1)))).toBeUndefined();
  });

  test.each(['{"', '{"id":"', '{"id":'])('if the key or the id that begins %s is longer than 8 KiB', (before) => {
    const answer = new UnreadAnswer(7);
    const begun = before.endsWith('"') ? 1 : 0;
    expect(answer.pass(Buffer.from(`data: ${before}${'1'.repeat(8192 - begun)}`))).toBeDefined();
    expect(answer.pass(Buffer.from('1'))).toBeUndefined();
  });
});

describe('an event of more than 8 MiB in a stream in which all must be read', () => {
  const reading: Rewriting = { concerns: () => true, rewrite: () => undefined, mustRead: true };
  const filter = (): EventFilter => new EventFilter(reading, (text) => text.includes('"id":7'), 7);
  const text = 'x'.repeat(LONGEST);
  const chunksOf = (event: string): readonly Buffer[] => {
    const bytes = Buffer.from(event);
    const chunks = [];
    for (let at = 0; at < bytes.length; at += 65_536) chunks.push(bytes.subarray(at, at + 65_536));
    return chunks;
  };
  const through = (to: EventFilter, event: string): string =>
    Buffer.concat(chunksOf(event).flatMap((chunk) => to.push(chunk))).toString();
  const refusal = expect.objectContaining({ reason: 'upstream.invalid' }) as Error;

  test.each([`{"id":7,"result":{"a":"${text}"}}`, `{"result":{"a":"${text}"},"id":7}`])(
    'passes if it is the answer: %.20s',
    (message) => {
      const to = filter();
      const before = 'data: {}\n\n';
      const event = `event: message\ndata: ${message}\n\n`;
      expect(through(to, before + event) === before + event).toBe(true);
      expect(through(to, before)).toBe(before);
      expect(to.end()).toEqual([]);
    },
  );

  test('holds no more than 8 MiB of it, whatever its length', () => {
    const to = filter();
    through(to, `data: {"id":7,"result":{"a":"${text}`);
    for (let i = 0; i < 100; i += 1) expect(to.push(Buffer.from('more'))).toEqual([Buffer.from('more')]);
  });

  test.each([
    ['before any of it passed', `{"id":8,"result":{"tools":["${text}"]}}`, ''],
    ['when its end shows another id', `{"result":{"tools":["${text}"]},"id":8}`, 'data: {"result":{"tools":["'],
    ['when it has no end', `{"result":{"tools":["${text}"]}`, 'data: {"result":{"tools":["'],
  ])('is refused %s, and its JSON stays incomplete', (_what, message, begins) => {
    const to = filter();
    const passed = through(to, `data: ${message}\n\n`);
    expect(passed.startsWith(begins)).toBe(true);
    expect(passed).not.toContain('}');
    expect(passed === '' || passed.endsWith('\n\n')).toBe(true);
    expect(() => to.end()).toThrow(refusal);
  });

  test('is refused where its answer must be read', () => {
    const to = new EventFilter(reading, (message) => message.includes('"id":7'));
    expect(through(to, `data: {"id":7,"result":{"a":"${text}"}}\n\n`)).toBe('');
    expect(through(to, `data: {"result":{"a":"${text}"},"id":7}\n\n`)).toBe('');
    expect(() => to.end()).toThrow(refusal);
  });

  test('is refused if the stream ends before it', () => {
    const to = filter();
    expect(through(to, `data: {"id":7,"result":{"a":"${text}`)).toContain('xxx');
    expect(() => to.end()).toThrow(refusal);
  });
});
