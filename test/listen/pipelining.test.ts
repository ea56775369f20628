import { expect, test } from 'vitest';
import { listen } from '../../src/listen/server.ts';
import { head, open } from '../support/raw.ts';

test('a pipelined request takes turns with other clients, and does not begin as soon as the answer before it ends', async () => {
  let begun = 0;
  const begunAtFinish: number[] = [];
  const listener = await listen({
    address: { host: '127.0.0.1', port: 0 },
    maxHeaderBytes: 16_384,
    onRequest(_request, response) {
      begun += 1;
      // The listener of the request that waits was there before.
      response.once('finish', () => begunAtFinish.push(begun));
      response.end(`answer ${begun}`);
    },
    onMalformed: () => ({ status: 400, requestId: 'x' }),
  });
  try {
    const client = await open(listener.url, head('GET /').repeat(3));
    await client.has('answer 3');
    expect(begunAtFinish).toEqual([1, 2, 3]);
  } finally {
    await listener.close(0);
  }
});
