import { array, nat } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEventFilter, createJsonFilter, type Rewriting } from '../../src/mcp/body-filter.ts';
import { createHandleBinding, createOwnerBound } from '../../src/mcp/bindings.ts';
import { lengthPrefixed } from '../../src/lib/length-prefixed.ts';
import { property } from '../support/property.ts';

const sessions = createOwnerBound('a key of at least thirty-two characters');
const binding = createHandleBinding(sessions, Date.now);
const alice = lengthPrefixed(['tools', 'https://issuer.example', 'subject', 'alice']);

/** The task `é` as alice sees it. */
const bound = sessions.bind(Buffer.from('é').toString('base64url'), alice + lengthPrefixed(['task']));

const message = (id: string): string => ` {"result":{"taskId":"${id}","n":1e400}}\n`;
const events = (id: string): string =>
  [
    ': comment é\n\n',
    'event: message\r\ndata: {"result":{"content":[]}}\r\n\r\n',
    `id: 1\ndata: {"method":"notifications/tasks/status",\ndata: "params":{"taskId":"${id}","n":1e400}}\n\n`,
    'data: {"params":{"taskId":"of none"}}\n\n',
    'data: taskId, but no JSON\r\r',
    'data: without its end',
  ].join('');

const rewriting: Rewriting = {
  concerns: (part) => part.includes('taskId'),
  rewrite: (text) => binding.bindAll(text, { owner: alice, method: undefined, targets: [] }, undefined),
  mustRead: false,
};

/** Pushes `text` in pieces cut at `cuts`, and ends. */
function through(filter: ReturnType<typeof createEventFilter>, text: string, cuts: readonly number[]): string {
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  const out = [0, ...places].flatMap((start, i) => filter.push(bytes.subarray(start, places[i] ?? bytes.length)));
  return Buffer.concat([...out, ...filter.end()]).toString();
}

describe('in an answer', () => {
  property('as events, however the stream is split into chunks', [array(nat(400))], (cuts) => {
    expect(through(createEventFilter(rewriting), events('é'), cuts)).toBe(events(bound));
  });

  property('as JSON, however it is split into chunks', [array(nat(100))], (cuts) => {
    expect(through(createJsonFilter(rewriting), message('é'), cuts)).toBe(message(bound));
  });

  test('as JSON of another form, if it has no handle', () => {
    expect(through(createJsonFilter(rewriting), '{ "result" :1}', [])).toBe('{ "result" :1}');
  });

  test.each([
    ['JSON', createJsonFilter],
    ['an event', createEventFilter],
  ])('%s that is too long to read passes unchanged', (_, create) => {
    const long = `data: {"result":{"taskId":"a","x":"${'x'.repeat(9 * 1024 * 1024)}"}}`;
    const filter = create(rewriting);
    expect(Buffer.concat(filter.push(Buffer.from(long))).length).toBe(long.length);
    const rest = [...filter.push(Buffer.from('\n\n')), ...filter.end()];
    expect(Buffer.concat(rest).toString()).toBe('\n\n');
  });
});
