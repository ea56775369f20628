import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFields } from '../../../../src/core/gateway/listen/call.ts';
import { orReason } from '../../../support/denial.ts';
import { words } from '../../../support/words.ts';

const host = ['Host', 'gateway.test'];

function reason(...raw: string[]): string {
  return orReason(() => {
    readFields(raw);
    return 'accepted';
  });
}

describe('a decisive field must be unique', () => {
  test.each([
    ['authorization', 'request.credentials'],
    ...words(`
      host content-length transfer-encoding content-type content-encoding expect origin upgrade
      proxy-authorization last-event-id mcp-method mcp-name mcp-protocol-version mcp-session-id`).map((name) => [
      name,
      'request.duplicate_header',
    ]),
  ])('two %s → %s', (name = '', wanted) => {
    const rest = name === 'host' ? [] : host;
    expect(reason(...rest, name, 'a', name, 'a'), 'the same value').toBe(wanted);
    expect(reason(...rest, name, 'a', name.toUpperCase(), 'b'), 'another case').toBe(wanted);
    expect(reason(...rest, name, '', name, ''), 'empty').toBe(wanted);
  });

  test.each(['cookie', 'accept', 'x-anything', 'via'])('two %s are a list', (name) => {
    expect(reason(...host, name, 'a', name, 'b')).toBe('accepted');
  });
});

describe('Connection', () => {
  test.each([
    ['close', 'accepted'],
    ['keep-alive, x-foo', 'accepted'],
    ['Upgrade', 'accepted'],
    ['close, x-auth-subject', 'accepted'],
    ['close, Authorization', 'request.framing'],
    ['content-length', 'request.framing'],
    ['x,\tHOST ,y', 'request.framing'],
    ['content-type', 'request.framing'],
    ['mcp-session-id', 'request.framing'],
    [',,', 'accepted'],
  ])('%s → %s', (value, wanted) => expect(reason(...host, 'Connection', value)).toBe(wanted));

  test('two of them are one list', () => {
    expect(readFields([...host, 'Connection', 'close', 'connection', 'x-a']).connection).toBe('close,x-a');
    expect(reason(...host, 'Connection', 'close', 'connection', 'origin')).toBe('request.framing');
  });
});

test.each([
  ['no Host', [], 'request.malformed'],
  ['an empty Host is one', ['Host', ''], 'accepted'],
  ['Expect: 100-continue', [...host, 'Expect', '100-Continue'], 'accepted'],
  ['another expectation', [...host, 'Expect', '100-continue, x'], 'request.expectation'],
  ['chunked', [...host, 'Transfer-Encoding', 'Chunked'], 'accepted'],
  ['a coding that we would take off unread', [...host, 'Transfer-Encoding', 'gzip, chunked'], 'request.framing'],
  ['a coding that is none', [...host, 'Transfer-Encoding', 'identity'], 'request.framing'],
])('%s', (_why, raw, wanted) => expect(reason(...raw)).toBe(wanted));

test('what stages read', () => {
  const raw = ['HOST', 'h', 'authorization', 'Bearer x', 'Content-Type', 'a/b', 'content-LENGTH', '3', 'X-A', ' v'];
  expect(readFields(raw)).toMatchObject({
    raw,
    names: ['host', 'authorization', 'content-type', 'content-length', 'x-a'],
    authorization: 'Bearer x',
    connection: undefined,
    contentEncoding: undefined,
    contentLength: '3',
    contentType: 'a/b',
    transferEncoding: undefined,
    upgrade: undefined,
  });
});

test('for any fields: nothing but a Denial, names in lower case and in order, more names than are remembered', () => {
  const name = fc.oneof(fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}$/), fc.constantFrom('__proto__', 'Host'));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string())), (pairs) => {
      const raw = [...host, ...pairs.flat()];
      const [read, names] = [
        orReason(() => readFields(raw).names),
        ['host', ...pairs.map(([field]) => field.toLowerCase())],
      ];
      expect(typeof read === 'string' ? names : read).toEqual(names);
    }),
    { numRuns: 500 },
  );
});
