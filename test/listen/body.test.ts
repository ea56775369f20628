import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readBody } from '../../src/listen/body.ts';
import type { Call } from '../../src/model/call.ts';

function callWith(contentLength?: string): { call: Call; request: PassThrough } {
  const request = new PassThrough();
  return { call: { request, fields: { contentLength } } as unknown as Call, request };
}

/** The body, or why there is none. */
function outcome(call: Call, maxBytes = 10): Promise<string> {
  return readBody(call, maxBytes).then(String, (error: { reason: string }) => error.reason);
}

describe('within the limit', () => {
  test.each([
    ['nothing', []],
    ['one chunk', ['0123456789']],
    ['many chunks', ['0', '1', '2345', '6789']],
  ])('%s', async (_what, chunks) => {
    const { call, request } = callWith();
    const body = outcome(call);
    for (const chunk of chunks) request.write(chunk);
    request.end();
    expect(await body).toBe(chunks.join(''));
  });
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
  test('in the middle', async () => {
    const { call, request } = callWith('5');
    const body = outcome(call);
    request.write('01');
    request.destroy();
    expect(await body).toBe('body.incomplete');
  });

  test('with an error', async () => {
    const { call, request } = callWith('5');
    const body = outcome(call);
    request.destroy(new Error('reset'));
    expect(await body).toBe('body.incomplete');
  });

  test('before anybody read: while the token was introspected, say', async () => {
    const { call, request } = callWith('5');
    await new Promise<void>((closed) => request.once('close', closed).destroy());
    expect(await outcome(call)).toBe('body.incomplete');
  });
});
