import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEventSplitter, endsEvent, eventData, subscriptionEnd, withData } from '../../src/mcp/body-filter.ts';
import type { Action } from '../../src/model/grant.ts';
import { runs } from '../support/runs.ts';
import { message } from '../policy/caller.ts';
import { property } from '../support/property.ts';

const piece = fc.constantFrom(
  'data: a',
  'data:b',
  'data',
  'id: 1',
  ': c',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '\r\n\r\n',
  'é',
  '',
);
const stream = fc.array(piece, { maxLength: 20 }).map((pieces) => Buffer.from(pieces.join('')));

function split(chunks: readonly Buffer[]): readonly string[] {
  const splitter = createEventSplitter(Infinity);
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
      const splitter = createEventSplitter(Infinity);
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
