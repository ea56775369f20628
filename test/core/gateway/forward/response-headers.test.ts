import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCleanAnswer, type ResponseHeaders } from '../../../../src/core/gateway/forward/response-headers.ts';
import { ownCookies } from '../../../../src/core/model/fields.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import type { Grant } from '../../../../src/core/model/grant.ts';
import { property } from '../../../support/property.ts';
import { words } from '../../../support/words.ts';

const own = {
  isPublic: true,
  allowedCommands: [],
  upstreamChallenges: false,
  crossOrigin: () => ({}),
  nonce: undefined,
  location: (value: string) => value.replace('http://upstream', 'https://gateway.test'),
  reservedCookies: ownCookies.all,
  sessionId: (theirs: string) => theirs,
};

/** What a route makes of a header section. */
function read(raw: readonly (Buffer | string)[], route: Partial<typeof own> = {}, action = {}): ResponseHeaders {
  const grant = { action } as Grant;
  return createCleanAnswer({ ...own, ...route })({ raw, status: 200, call: {} as Call, grant, willChange: false });
}

const fieldsOf = (...raw: string[]): string[] => read(raw.map((text) => Buffer.from(text, 'latin1'))).fields;

describe('what goes on', () => {
  test('as it came: order, case, repetition, octets', () => {
    const raw = ['Set-Cookie', 'a=1', 'ETag', '"\u00e9"', 'set-cookie', 'b=2', 'Content-Length', '0', 'Vary', ''];
    expect(fieldsOf(...raw)).toEqual(raw);
  });

  test('but where it leads: to the gateway', () => {
    const place = [
      'Location',
      'http://upstream/a',
      'Content-Location',
      'http://upstream/b',
      'X-Next',
      'http://upstream/c',
    ];
    expect(fieldsOf(...place)).toEqual([
      'Location',
      'https://gateway.test/a',
      'Content-Location',
      'https://gateway.test/b',
      'X-Next',
      'http://upstream/c',
    ]);
  });

  test('but a challenge: clients would go where the upstream sends them, with a token that is fine', () => {
    expect(fieldsOf('WWW-Authenticate', 'Bearer resource_metadata="http://evil.example"')).toEqual([]);
  });
});

describe('a cookie with a name of the gateway', () => {
  test.each([
    'sallyport_admin=x; Path=/',
    '__Host-sallyport_signin=x; Secure; Path=/',
    '__Secure-sallyport_session=x; Secure',
    '__HOST-SallyPort_Session=x; Secure; Path=/',
    'sallyport_anything=',
    ' \tsallyport_admin=x',
    // A cookie without a name: browsers send its value as it is, which reads as one of ours.
    '=sallyport_admin=x',
    ' = =sallyport_admin=x',
    'sallyport_admin',
    'session=1, sallyport_admin=x',
    'session=1; Expires=Wed, 21 Oct 2015 07:28:00 GMT, sallyport_admin=x',
  ])('%j is dropped', (cookie) => expect(fieldsOf('Set-Cookie', cookie, 'a', 'b')).toEqual(['a', 'b']));

  test.each(['session=sallyport_admin=x', 'my_sallyport_admin=x', 'a=b; sallyport_admin=x'])('%j goes on', (cookie) =>
    expect(fieldsOf('set-cookie', cookie)).toEqual(['set-cookie', cookie]),
  );

  test('of the front door goes on where the front door answers, and that of operators nowhere', () => {
    const raw = ['Set-Cookie', '__Host-sallyport_session=x', 'Set-Cookie', 'sallyport_admin=x'];
    expect(read(raw, { reservedCookies: ownCookies.admin }).fields).toEqual(raw.slice(0, 2));
  });
});

describe('what is about the upstream connection', () => {
  test.each(
    words(`
    Connection Keep-Alive Proxy-Authenticate Proxy-Authentication-Info Proxy-Authorization Proxy-Connection TE
    Trailer Upgrade upgrade`),
  )('%s', (name) => expect(fieldsOf(name, 'x', 'a', 'b')).toEqual(['a', 'b']));

  test('Transfer-Encoding', () => expect(fieldsOf('Transfer-Encoding', 'Chunked', 'a', 'b')).toEqual(['a', 'b']));

  test('and what Connection nominates, wherever it stands', () => {
    expect(fieldsOf('X-Foo', '1', 'Connection', 'close, x-foo', 'connection', 'X-BAR', 'x-bar', '2', 'a', 'b')).toEqual(
      ['a', 'b'],
    );
  });
});

describe('an event stream', () => {
  test.each(['text/event-stream', 'Text/Event-Stream;charset=utf-8', 'text/event-stream ; x=y'])('%s', (type) => {
    const raw = ['Content-Type', type, 'Content-Length', '5', 'X-Accel-Buffering', 'yes'].map(String);
    expect(read(raw)).toMatchObject({
      fields: ['Content-Type', type, 'X-Accel-Buffering', 'no'],
      hasDate: false,
      isEventStream: true,
    });
  });

  test.each(['text/event-streamx', 'text/plain', 'x text/event-stream', ''])('%s is none', (type) => {
    expect(read(['content-type', type, 'content-length', '5'])).toMatchObject({
      fields: ['content-type', type, 'content-length', '5'],
      hasDate: false,
      isEventStream: false,
    });
  });
});

test.each(words('CDN-Cache-Control cloudflare-cdn-cache-control Surrogate-Control Edge-Control X-Accel-Expires'))(
  '%s goes on from a public route alone',
  (name) => {
    const raw = [name, 'max-age=60'];
    expect([true, false].map((isPublic) => read(raw, { isPublic }).fields)).toEqual([raw, []]);
  },
);

test('a Date is known, so that no second one is added', () => {
  expect(read(['date', 'x']).hasDate).toBe(true);
  expect(read(['x-date', 'x']).hasDate).toBe(false);
});

property(
  'for any fields: what is left stood there',
  [fc.array(fc.tuple(fc.stringMatching(/^[A-Za-z-]{1,12}$/), fc.string()))],
  (pairs) => {
    const left = read(pairs.flat()).fields;
    expect(left.length % 2).toBe(0);
    for (let i = 0; i < left.length; i += 2) {
      expect(pairs).toContainEqual([left[i], left[i + 1]]);
    }
  },
);

describe('an event stream of MCP', () => {
  const raw = ['Content-Type', 'text/event-stream', 'Content-Digest', 'sha-256=:AA==:', 'ETag', '"1"'];
  const fieldsIn = (era: 'legacy' | 'modern'): string[] => read(raw, {}, { era }).fields;

  test('goes without the fields about its bytes in a legacy revision: the ids of its events are changed', () => {
    expect(fieldsIn('legacy')).toEqual(['Content-Type', 'text/event-stream', 'X-Accel-Buffering', 'no']);
  });

  test('keeps them in MCP 2026-07-28', () => {
    expect(fieldsIn('modern')).toEqual([...raw, 'X-Accel-Buffering', 'no']);
  });
});
