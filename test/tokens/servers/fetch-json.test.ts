import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createJsonFetcher, FetchError, type JsonFetcher } from '../../../src/tokens/servers/fetch-json.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';

let upstream: Upstream;
let fetcher: JsonFetcher;
let answer: (response: ServerResponse) => void;
beforeEach(async () => {
  answer = (response) => response.end('{}');
  upstream = await startUpstream((_request, response) => answer(response));
  fetcher = createJsonFetcher();
});
afterEach(async () => {
  fetcher.close();
  await vi.waitUntil(() => upstream.sockets.size === 0, { timeout: 20_000 });
  await upstream.close();
});

/** More than a busy machine needs. */
const options = { timeoutMs: 10_000, maxBytes: 1000 };
/** For what ends by its timeout. */
const SHORT_MS = 300;
const outcome = (url = upstream.url, timeoutMs = options.timeoutMs): Promise<unknown> =>
  fetcher.fetchJson(url, { ...options, timeoutMs }).catch((error: unknown) => error);

/** Why there is no answer. */
async function failure(url?: string, timeoutMs?: number): Promise<string> {
  const error = await outcome(url, timeoutMs);
  expect(error).toBeInstanceOf(FetchError);
  return (error as FetchError).message;
}

/** A server that says what it wants, HTTP or not; `say` gets the connection and the number of its request. */
async function startRaw(say: (socket: Socket, count: number) => void, port = 0): Promise<Server & { url: string }> {
  let count = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('data', () => say(socket, (count += 1)));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return Object.assign(server, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
}

describe('any status is an answer', () => {
  test.each([
    [200, '{"a":1}', { a: 1 }],
    [400, '{"error":"x"}', { error: 'x' }],
    [500, 'oops', undefined],
    [200, '', undefined],
    [200, 'null', null],
    [200, '\uFEFF{}', {}],
  ])('%i %s', async (status, text, body) => {
    answer = (response) => response.writeHead(status).end(text);
    expect(await outcome()).toMatchObject({ status, body });
  });

  test('with its header fields', async () => {
    const type = 'Application/JSON; charset=utf-8';
    answer = (response) =>
      response.writeHead(503, { 'content-type': type, 'retry-after': '7', 'cache-control': 'max-age=9' }).end('{}');
    expect(await outcome()).toEqual({
      status: 503,
      mediaType: 'application/json',
      text: '{}',
      body: {},
      retryAfter: '7',
      cacheControl: 'max-age=9',
    });
  });

  test.each(['with a body', ''])('a redirect is not followed %s', async (text) => {
    answer = (response) => response.writeHead(302, { location: `${upstream.url}/elsewhere` }).end(text);
    expect(await outcome()).toMatchObject({ status: 302, text: '', body: undefined });
    expect(upstream.seen.map(({ url }) => url)).toEqual(['/']);
  });
});

/** Sends a text again and again. */
function dripping(text: string, everyMs: number): (response: ServerResponse) => void {
  return (response) => {
    const timer = setInterval(() => response.write(text), everyMs);
    response.on('close', () => clearInterval(timer));
  };
}

describe('no answer', () => {
  test.each<[string, (response: ServerResponse) => void, string]>([
    ['a body beyond the limit', (response) => response.end('x'.repeat(2000)), 'more than 1000 bytes'],
    [
      'one that says so beforehand',
      (response) => response.writeHead(200, { 'content-length': 2000 }).flushHeaders(),
      'more than 1000 bytes',
    ],
    ['one that never ends', dripping('x'.repeat(400), 5), 'more than 1000 bytes'],
    ['silence', () => {}, `timeout after ${SHORT_MS} ms`],
    ['silence after the first byte', (response) => response.write('{'), `timeout after ${SHORT_MS} ms`],
    ['a byte now and then', dripping(' ', 20), `timeout after ${SHORT_MS} ms`],
    ['a reset', (response) => response.destroy(), 'ECONNRESET'],
    [
      'an answer that is cut off',
      (response) => {
        response.writeHead(200, { 'content-length': 100 }).write('{}');
        setImmediate(() => response.destroy());
      },
      'ECONNRESET',
    ],
    ['bytes that are not UTF-8', (response) => response.end(Buffer.from([0xff])), 'not UTF-8'],
    [
      'compressed bytes',
      (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}')),
      'content-encoding',
    ],
    ['a huge header', (response) => response.writeHead(200, { x: 'x'.repeat(20_000) }).end(), 'HPE_HEADER_OVERFLOW'],
  ])('%s', async (_what, act, message) => {
    answer = act;
    const why = await failure(upstream.url, message.startsWith('timeout') ? SHORT_MS : undefined);
    expect(why).toContain(`${upstream.url}: `);
    expect(why).toContain(message);
  });

  test.each([
    ['no listener', 'http://127.0.0.1:1/', 'ECONNREFUSED'],
    ['no such scheme', 'ftp://127.0.0.1/', 'ERR_INVALID_PROTOCOL'],
    ['no URL', 'as.example', 'ERR_INVALID_URL'],
  ])('%s', async (_what, url, message) => {
    expect(await failure(url)).toContain(message);
  });

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'HPE_'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}', 'HPE_'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', ''],
    ['nothing but promises', 'HTTP/1.1 100 Continue\r\n\r\n', 'timeout'],
    ['an end', undefined, 'ECONNRESET'],
  ])('%s', async (_what, text, message) => {
    const raw = await startRaw((socket) => (text === undefined ? socket.end() : socket.write(text)));
    expect(await failure(raw.url, message === 'timeout' ? SHORT_MS : undefined)).toContain(message);
  });

  test('a TLS handshake that fails', async () => {
    const server = createHttpsServer({}, () => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    expect(await failure(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)).toMatch(/./);
    server.close();
  });
});

test('requests no compression', async () => {
  await outcome();
  expect(upstream.seen[0]?.headers).not.toHaveProperty('accept-encoding');
});

test('a POST is a form', async () => {
  const body = new URLSearchParams({ token: 'a b' });
  await fetcher.fetchJson(upstream.url, { ...options, method: 'POST', body });
  expect(upstream.seen.at(-1)).toMatchObject({ method: 'POST', body: 'token=a+b' });
});

test('calls a port that browsers refuse', async () => {
  for (const port of [10_080, 6000, 6566, 6665, 6679]) {
    const raw = await startRaw((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n{"a":1}'), port).catch(() => undefined);
    if (raw === undefined) continue;
    await expect(fetch(raw.url)).rejects.toMatchObject({ cause: { message: 'bad port' } });
    expect(await outcome(raw.url)).toMatchObject({ status: 200, body: { a: 1 } });
    return;
  }
  throw new Error('every one of these ports is in use');
});

describe('connections', () => {
  test('are kept alive, and closed on close', async () => {
    await outcome();
    await outcome();
    expect(upstream.sockets.size).toBe(1);
    fetcher.close();
    await expect.poll(() => upstream.sockets.size).toBe(0);
    expect(await outcome(), 'a call that is late').toMatchObject({ status: 200 });
  });

  const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
  /** Answers the first request, hangs up at the second, on the same connection. */
  const closing = (socket: Socket, count: number): void => {
    if (count === 2) socket.resetAndDestroy();
    else socket.write(ok);
  };

  test('a GET on a connection that the server was closing is sent again', async () => {
    const raw = await startRaw(closing);
    for (const _ of [1, 2]) expect(await outcome(raw.url)).toMatchObject({ status: 200 });
  });

  test('once, within the same timeout', async () => {
    const raw = await startRaw((socket, count) => {
      if (count === 1) socket.write(ok);
      if (count === 2) setTimeout(() => socket.resetAndDestroy(), 1_500);
    });
    await outcome(raw.url);
    const began = performance.now();
    const late = fetcher.fetchJson(raw.url, { ...options, timeoutMs: 2_000 });
    await expect(late).rejects.toThrow('timeout after 2000 ms');
    // Not the 3.5 s that a second timeout would make.
    expect(performance.now() - began).toBeLessThan(3_200);
  });

  test('a POST is not sent again: the server may have processed it', async () => {
    const raw = await startRaw(closing);
    await outcome(raw.url);
    const post = { ...options, method: 'POST', body: new URLSearchParams() } as const;
    await expect(fetcher.fetchJson(raw.url, post)).rejects.toThrow('ECONNRESET');
  });
});

test('a thousand calls to a silent server leave no connection', async () => {
  answer = () => {};
  const calls = Array.from({ length: 1000 }, () => outcome(upstream.url, SHORT_MS));
  for (const error of await Promise.all(calls)) expect(error).toBeInstanceOf(FetchError);
});
