import { describe, expect, test } from 'vitest';
import { head, open, startRawUpstream } from '../../../support/raw.ts';
import { startRoutesWorld } from '../../../worlds/routes.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

/** All that the upstream says, at once. */
let answer: Buffer;
const upstream = startBeforeAll(() => startRawUpstream(({ socket }) => socket.end(answer)));
const world = startBeforeAll(() => startRoutesWorld([`name: whole, path: /whole, upstream: { url: ${upstream.url} }`]));

/** What the client sees of an answer with this header section and body. */
async function relayed(fields: string, body: Buffer): Promise<string> {
  answer = Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nConnection: close\r\n${fields}\r\n\r\n`, 'latin1'), body]);
  const request = head('GET /whole', `Authorization: Bearer ${await world.token()}`, 'Connection: close');
  const client = await open(world.url, request);
  await new Promise((resolve) => client.socket.once('close', resolve));
  return client.received();
}

function bodyOf(received: string): Buffer {
  return Buffer.from(received.slice(received.indexOf('\r\n\r\n') + 4), 'latin1');
}

const everyByte = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, at) => at % 256));

// client-answer.test.ts has event streams that arrive complete.
describe('an answer that arrives complete', () => {
  test.each([0, 1, 256, 16 * 1024, 16 * 1024 + 1, 60_000, 500_000])('%i bytes are the same bytes', async (length) => {
    const body = everyByte(length);
    const received = await relayed(`Content-Length: ${length}`, body);
    expect(received).toMatch(new RegExp(`\r\ncontent-length: ${length}\r\n`, 'i'));
    expect(bodyOf(received).equals(body)).toBe(true);
  });

  test('gets a length if the upstream sent none', async () => {
    const received = await relayed('Transfer-Encoding: chunked', Buffer.from('3\r\nå!\r\n0\r\n\r\n'));
    expect(received).not.toMatch(/transfer-encoding/i);
    expect(received).toMatch(/\r\ncontent-length: 3\r\n/i);
    expect(bodyOf(received).toString()).toBe('å!');
  });
});
