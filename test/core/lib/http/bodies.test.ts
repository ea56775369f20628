import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { boundedAnswer, boundedBytes, drain, YieldingStream } from '../../../../src/core/lib/http/bodies.ts';

const PIECE = 64 * 1024;

test('all of a body comes through, in order', async () => {
  const pieces = Array.from({ length: 40 }, (_, index) => Buffer.alloc(PIECE, index));
  const paced = new YieldingStream();
  const [through] = await Promise.all([buffer(paced), pipeline(Readable.from(pieces), paced)]);
  expect(through.equals(Buffer.concat(pieces))).toBe(true);
});

test('a short body passes at once', () => {
  const passed: string[] = [];
  const paced = new YieldingStream();
  paced.on('data', (chunk: Buffer) => passed.push(chunk.toString()));
  paced.write('one');
  paced.write('two');
  paced.read(0);
  expect(passed).toEqual(['one', 'two']);
});

test('of a long one a piece passes in a turn of the event loop', async () => {
  let passed = 0;
  const paced = new YieldingStream(undefined, { highWaterMark: 16 * PIECE });
  paced.on('data', (chunk: Buffer) => (passed += chunk.length));
  for (let piece = 0; piece < 4; piece += 1) paced.write(Buffer.alloc(PIECE));
  const seen = [];
  for (let turn = 0; turn < 4; turn += 1) {
    seen.push(passed / PIECE);
    await setImmediate();
  }
  expect(passed).toBe(4 * PIECE);
  expect(seen[0]).toBeLessThanOrEqual(1);
  for (let turn = 1; turn < seen.length; turn += 1) {
    expect((seen[turn] as number) - (seen[turn - 1] as number)).toBeLessThanOrEqual(1);
  }
});

test('drain reads a body to its end, one piece in each turn', async () => {
  const body = new PassThrough({ highWaterMark: 16 * PIECE });
  // As it is once another reader has stopped.
  body.pause();
  for (let piece = 0; piece < 4; piece += 1) body.write(Buffer.alloc(PIECE));
  body.end();
  let pieces = 0;
  let most = 0;
  body.on('data', () => (pieces += 1));
  const ended = once(body, 'end');
  drain(body);
  while (!body.readableEnded) {
    const before = pieces;
    await setImmediate();
    most = Math.max(most, pieces - before);
  }
  await ended;
  expect(pieces).toBe(4);
  expect(most).toBe(1);
});

test('a body is read to its limit, and stays open beyond it', async () => {
  const tooLong = (): Error => new Error('too long');
  expect((await boundedBytes(Readable.from([Buffer.from('ab'), Buffer.from('c')]), 3, tooLong)).toString()).toBe('abc');
  const body = new PassThrough();
  body.write('abcd');
  await expect(boundedBytes(body, 3, tooLong)).rejects.toThrow('too long');
  expect(body.destroyed).toBe(false);
});

test('an answer is read to its limit, with its status and header section', async () => {
  const answer = await boundedAnswer(new Response('abc', { status: 404, headers: { a: 'b' } }), 3);
  expect([answer.status, answer.headers.get('a'), await answer.text()]).toEqual([404, 'b', 'abc']);
  expect((await boundedAnswer(new Response(null, { status: 204 }), 3)).status).toBe(204);
  await expect(boundedAnswer(new Response('abcd'), 3)).rejects.toThrow('answered with more than 3 bytes');
});
