/** What an identity provider answers is bounded in size and time: it could otherwise fill the memory of the front door. */
import { createServer, type ServerResponse } from 'node:http';
import { createGzip } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { listen } from '../../demo/listen.ts';
import { createIssuerFetch } from '../../src/front-door/issuer-discovery.ts';
import { startBeforeAll } from '../support/start-before.ts';

let answer: (response: ServerResponse) => void;
let written = 0;

const server = createServer((_request, response) => answer(response));
const running = startBeforeAll(() => listen(server, 0));
beforeEach(() => {
  written = 0;
});

const spaces = Buffer.alloc(64 * 1024, ' ');

/** Writes without end, as fast as it is read. */
function endless(stream: NodeJS.WritableStream & { readonly destroyed?: boolean }): void {
  if (stream.destroyed === true) return;
  written += spaces.length;
  if (stream.write(spaces)) setImmediate(endless, stream);
  else stream.once('drain', () => endless(stream));
}

const read = async (signal = AbortSignal.timeout(60_000)): Promise<string> => {
  const { url } = running;
  const fetchAnswer = createIssuerFetch({ issuer: url, backchannel: url });
  return (await fetchAnswer(`${url}/token`, { signal })).text();
};

test('an answer of up to 512 KiB is read', async () => {
  answer = (response) => response.end(Buffer.alloc(512 * 1024, ' '));
  expect(await read()).toHaveLength(512 * 1024);
});

test('an answer that never ends is given up, and its connection closed', async () => {
  const closed = new Promise((resolve) => server.once('connection', (socket) => socket.once('close', resolve)));
  answer = (response) => endless(response);
  await expect(read()).rejects.toThrow('answered with more than 524288 bytes');
  await closed;
  // What the buffers of both sockets may hold besides.
  expect(written).toBeLessThan(32 * 1024 * 1024);
});

test('a compressed answer counts by what it becomes', async () => {
  answer = (response) => {
    response.setHeader('content-encoding', 'gzip');
    const gzip = createGzip();
    gzip.pipe(response);
    response.once('close', () => gzip.destroy());
    endless(gzip);
  };
  await expect(read()).rejects.toThrow('answered with more than 524288 bytes');
});

test('an answer that stops in the middle ends with the signal of the caller', async () => {
  answer = (response) => response.write('{');
  const stop = new AbortController();
  const reading = read(stop.signal);
  server.once('request', () => setImmediate(() => stop.abort(new Error('too late'))));
  await expect(reading).rejects.toThrow('too late');
});
