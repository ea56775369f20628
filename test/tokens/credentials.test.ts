import { Socket } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTokenReader } from '../../src/tokens/credentials.ts';
import { tokenKey } from '../../src/tokens/cached-verifier.ts';
import type { Call } from '../../src/core/model/call.ts';
import { runs } from '../support/runs.ts';
import { orReason } from '../support/denial.ts';
import { isFreed } from '../support/small-collections.ts';

/** A request with this header on a connection. */
function call(authorization: string | undefined, socket: Socket, query = ''): Call {
  return { fields: { authorization }, query, request: { socket } } as unknown as Call;
}

describe('a reused connection', () => {
  test('gets the same object for the same header; another connection does not', () => {
    const read = createTokenReader(false);
    const socket = new Socket();
    const first = read(call('Bearer one', socket));
    expect(read(call('Bearer one', socket))).toBe(first);
    const elsewhere = read(call('Bearer one', new Socket()));
    expect(elsewhere).not.toBe(first);
    expect(tokenKey(elsewhere)).toBe(tokenKey(first));
  });

  test('is remembered once, however many routes and configurations it meets', () => {
    const socket = new Socket();
    const readers = Array.from({ length: 20 }, () => createTokenReader(false));
    const tokens = readers.map((read) => read(call('Bearer one', socket)));
    expect(new Set(tokens).size).toBe(1);
    expect(socket.listenerCount('close')).toBe(1);
  });

  test('that repeats a DPoP token is refused by a route that takes none', () => {
    const socket = new Socket();
    createTokenReader(true)(call('DPoP one', socket));
    const denial: unknown = expect.objectContaining({ reason: 'credentials.missing' });
    expect(() => createTokenReader(false)(call('DPoP one', socket))).toThrow(denial);
  });

  // Node keeps a closed socket until the next full collection of garbage, and with it whatever is remembered for it.
  test('frees its token once it is closed', async () => {
    const read = createTokenReader(false);
    const socket = new Socket();
    const token = (): object => read(call('Bearer one', socket));
    expect(await isFreed(token)).toBe(false);
    const ofClosed = (): object => {
      const last = token();
      socket.emit('close');
      return last;
    };
    expect(await isFreed(ofClosed)).toBe(true);
  });

  test('gets another token for another header, and the first one again afterwards', () => {
    const read = createTokenReader(false);
    const socket = new Socket();
    const keys = ['one', 'two', 'one'].map((token) => tokenKey(read(call(`Bearer ${token}`, socket))));
    expect(keys[0]).not.toBe(keys[1]);
    expect(keys[2]).toBe(keys[0]);
  });

  test.for<[reason: string, authorization: string | undefined, query: string]>([
    ['credentials.missing', undefined, ''],
    // Never looked at there: as no token.
    ['credentials.missing', undefined, '?access_token=one'],
    ['credentials.missing', 'Basic one', ''],
    ['credentials.missing', 'DPoP one', ''],
    ['token.malformed', 'Bearer one two', ''],
    ['request.credentials', 'Bearer one', '?access_token=two'],
    ['request.credentials', 'Bearer one', '?access%5ftoken=two'],
  ])('changes no refusal: %s of %s %s', ([reason, authorization, query]) => {
    const read = createTokenReader(false);
    const socket = new Socket();
    read(call('Bearer one', socket));
    expect(() => read(call(authorization, socket, query))).toThrow(expect.objectContaining({ reason }));
  });

  test('does not cache a long header', () => {
    const read = createTokenReader(false);
    const socket = new Socket();
    const longest = `Bearer ${'x'.repeat(4096 - 'Bearer '.length)}`;
    expect(read(call(longest, socket))).toBe(read(call(longest, socket)));
    const long = `${longest}x`;
    expect(read(call(long, socket))).not.toBe(read(call(long, socket)));
    expect(read(call(long, socket))).toEqual(read(call(long, socket)));
  });
});

type Read = [header: string, servesDpop: boolean, found: string];

test.for<Read>([
  ['Bearer a.b-c_d~e+f/g==', false, 'bearer a.b-c_d~e+f/g=='],
  ['bEARER   one', true, 'bearer one'],
  ['DPoP one', true, 'dpop one'],
  ['dpop one', true, 'dpop one'],
  ['DPoP one', false, 'credentials.missing'],
  ...['Basic one', 'Bearerone', 'x Bearer one', ''].map((header): Read => [header, true, 'credentials.missing']),
  ...['Bearer', 'Bearer ', 'Bearer one two', 'Bearer one=two', 'Bearer %00', 'Bearer "one"', 'DPoP one, DPoP two'].map(
    (header): Read => [header, true, 'token.malformed'],
  ),
])(
  'RFC 6750 §2.1, RFC 9449 §7.1 — the scheme and the token: %s, with DPoP served %s: %s',
  ([header, servesDpop, found]) => {
    expect(readOnce(header, '', servesDpop)).toBe(found);
  },
);

test.each([
  ['Bearer one two', 'Bearer b64token'],
  ['dpop one two', 'DPoP b64token'],
])('%s: the detail says that it is not of the form %s', (header, form) => {
  expect(() => createTokenReader(true)(call(header, new Socket()))).toThrow(
    `the Authorization header is not of the form ${form}`,
  );
});

test('the cache key of a token is its SHA-256', () => {
  const token = createTokenReader(false)(call('Bearer abc', new Socket()));
  expect(tokenKey(token)).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
});

/** Scheme and token, or the reason of the Denial. */
function readOnce(authorization: string, query: string, servesDpop: boolean): string {
  return orReason(() => {
    const { scheme, value } = createTokenReader(servesDpop)(call(authorization, new Socket(), query));
    return `${scheme} ${value}`;
  });
}

test('RFC 6750 §2.1 — for any header and query: the one b64token behind the scheme, or a Denial', () => {
  const word = fc.oneof(
    fc.constantFrom('Bearer', 'bearer', 'DPoP', 'Basic', ' ', '  ', '=', 'a.b.c', '\t', ','),
    fc.string(),
  );
  const header = fc.array(word, { maxLength: 5 }).map((words) => words.join(''));
  const query = fc.constantFrom('', '?x', '?access_token=y', '?%61ccess_token=y', '?a=%zz');
  fc.assert(
    fc.property(header, query, fc.boolean(), (authorization, asked, servesDpop) => {
      const found = readOnce(authorization, asked, servesDpop);
      const isTwice = new URLSearchParams(asked).has('access_token');
      const [, scheme = '', token = ''] = /^(bearer|dpop) +([\w\-.~+/]+=*)$/i.exec(authorization) ?? [];
      const isOurs = token !== '' && !isTwice && (servesDpop || scheme.toLowerCase() === 'bearer');
      const refusals = ['credentials.missing', 'token.malformed', 'request.credentials'];
      expect(isOurs ? [`${scheme.toLowerCase()} ${token}`] : refusals).toContain(found);
    }),
    { numRuns: runs },
  );
});
