import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createQuota } from '../../../../src/core/lib/fair-share.ts';
import { readBody, bodyQuotaBytes } from '../../../../src/core/gateway/listen/body.ts';
import type { Call } from '../../../../src/core/model/call.ts';
import { outcomeOf } from '../../../support/denial.ts';

function callWith(contentLength?: string, client = '192.0.2.1') {
  const request = new PassThrough();
  const response = new EventEmitter();
  const call = { request, response, client, fields: { contentLength } } as unknown as Call;
  return { call, request, response };
}

/** The body, or why there is none. */
function outcome(call: Call): Promise<string> {
  return outcomeOf(readBody(call, 10, createQuota(1_000)).then(String));
}

test.each([
  ['nothing', []],
  ['one chunk', ['0123456789']],
  ['many chunks', ['0', '1', '2345', '6789']],
])('reads a body within the limit: %s', async (_what, chunks) => {
  const { call, request } = callWith();
  const body = outcome(call);
  for (const chunk of chunks) request.write(chunk);
  request.end();
  expect(await body).toBe(chunks.join(''));
});

describe('beyond it', () => {
  test('a declared length is refused before the first byte', async () => {
    const { call, request } = callWith('11');
    expect(await outcome(call)).toBe('body.too_large');
    expect(request.readableFlowing).toBeNull();
  });

  test('an undeclared one while it arrives', async () => {
    const { call, request } = callWith();
    const body = outcome(call);
    request.write('01234567890');
    expect(await body).toBe('body.too_large');
    expect(request.listenerCount('data')).toBe(0);
  });
});

describe('a client that leaves', () => {
  test.each([
    ['in the middle', undefined],
    ['with an error', new Error('reset')],
  ])('%s', async (_what, error) => {
    const { call, request } = callWith('5');
    const body = outcome(call);
    request.write('01');
    request.destroy(error);
    expect(await body).toBe('body.incomplete');
  });

  test('before its body is read, such as during introspection', async () => {
    const { call, request } = callWith('5');
    await new Promise<void>((closed) => request.once('close', closed).destroy());
    expect(await outcome(call)).toBe('body.incomplete');
  });
});

describe('many at once', () => {
  const kib = 1024;
  const large = Buffer.alloc(20 * kib);
  const reading = (room = createQuota(100 * kib), client?: string) => {
    const { call, request, response } = callWith(undefined, client);
    return { body: outcomeOf(readBody(call, 1000 * kib, room).then(({ length }) => length)), request, response };
  };

  test('one client holds at most a quarter of the quota, with the bodies of calls in flight', async () => {
    const room = createQuota(100 * kib);
    const first = reading(room);
    first.request.end(large);
    expect(await first.body).toBe(large.length);
    const second = reading(room);
    second.request.write(large);
    expect(await second.body).toBe('body.no_room');
    const other = reading(room, '192.0.2.2');
    other.request.end(large);
    expect(await other.body).toBe(large.length);
    first.response.emit('close');
    const third = reading(room);
    third.request.end(large);
    expect(await third.body).toBe(large.length);
  });

  test('a body in pieces of one byte takes the memory that it holds from the quota', async () => {
    const whole = 100 * kib;
    let most = 0;
    const counting = {
      taken: 0,
      take(_owner: string, amount: number) {
        this.taken += amount;
        most = Math.max(most, this.taken);
        return true;
      },
      give: () => {},
    };
    const { call, request } = callWith();
    const body = readBody(call, 128 * kib, counting);
    for (let at = 0; at < whole; at += 1) request.write('x');
    request.end();
    expect((await body).length).toBe(whole);
    expect(most).toBe(128 * kib);
  });

  test('the addresses of one IPv6 subscriber share its part', async () => {
    const room = createQuota(100 * kib);
    const first = reading(room, '2001:db8::1');
    first.request.end(large);
    expect(await first.body).toBe(large.length);
    const second = reading(room, '2001:db8::2');
    second.request.write(large);
    expect(await second.body).toBe('body.no_room');
  });

  test('small bodies take no quota', async () => {
    const small = reading(createQuota(0));
    small.request.end(Buffer.alloc(16 * kib));
    expect(await small.body).toBe(16 * kib);
  });

  test('the quota has room for sixteen bodies of one client at any limit', () => {
    const mib = kib * kib;
    expect(bodyQuotaBytes(mib) / mib).toBe(256);
    expect(bodyQuotaBytes(16 * mib) / mib).toBe(1024);
  });
});
