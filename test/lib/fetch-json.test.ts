import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FetchError, fetchJson } from '../../src/lib/fetch-json.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let upstream: Upstream;
let answer: (response: ServerResponse) => void = () => {};
beforeAll(async () => {
  upstream = await startUpstream((_request, response) => answer(response));
});
afterAll(() => upstream.close());

const options = { timeoutMs: 300, maxBytes: 1000 };

describe('any status is an answer', () => {
  test.each([
    [200, '{"a":1}', { a: 1 }],
    [400, '{"error":"x"}', { error: 'x' }],
    [500, 'oops', undefined],
    [200, '', undefined],
    [200, 'null', null],
  ])('%i %s', async (status, text, body) => {
    answer = (response) => response.writeHead(status).end(text);
    expect(await fetchJson(upstream.url, options)).toMatchObject({ status, text, body });
  });
});

describe('what is none', () => {
  test.each([
    [
      'a redirect',
      (response: ServerResponse) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      'redirect',
    ],
    ['a body beyond the limit', (response: ServerResponse) => response.end('x'.repeat(2000)), 'more than 1000 bytes'],
    [
      'one that never ends',
      (response: ServerResponse) => setInterval(() => response.write('x'.repeat(400)), 5).unref(),
      'more than 1000 bytes',
    ],
    ['silence', () => {}, 'timeout'],
    ['silence after the first byte', (response: ServerResponse) => response.write('{'), 'timeout'],
    ['a reset', (response: ServerResponse) => response.destroy(), upstreamName()],
    ['bytes that are not UTF-8', (response: ServerResponse) => response.end(Buffer.from([0xff])), upstreamName()],
  ])('%s', async (_what, act, message) => {
    answer = act;
    const failure = await fetchJson(upstream.url, options).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FetchError);
    expect((failure as FetchError).message).toContain(message);
  });

  test('nobody there', async () => {
    await expect(fetchJson('http://127.0.0.1:1/', options)).rejects.toThrow(FetchError);
  });
});

/** Every message says who was asked. */
function upstreamName(): string {
  return 'http://127.0.0.1:';
}

test('a POST is a form', async () => {
  answer = (response) => response.end('{}');
  await fetchJson(upstream.url, { ...options, method: 'POST', body: new URLSearchParams({ token: 'a b' }) });
  expect(upstream.seen.at(-1)).toMatchObject({ method: 'POST', body: 'token=a+b' });
});
