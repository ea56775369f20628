import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listen, type Listener } from '../../../../src/core/gateway/listen/server.ts';
import { exchangeRaw, head, lastHead, open, type RawConnection } from '../../../support/raw.ts';
import { until } from '../../../support/until.ts';

/** The acts of the next turn. */
const acts: (() => void)[] = [];
/** What the listener did, in order. */
const done: string[] = [];
/** Answers the request that is held. */
let release: () => void;
let listener: Listener;
beforeEach(async () => {
  acts.length = 0;
  done.length = 0;
  listener = await listen({
    address: { host: '127.0.0.1', port: 0 },
    maxHeaderBytes: 16_384,
    idleMs: 75_000,
    onRequest(request, response) {
      done.push(`${request.method} ${request.url}`);
      const answer = (): void => void response.end(`answer to ${request.url}`);
      if (request.url === '/held') release = answer;
      else answer();
    },
    onMalformed(reason) {
      done.push(reason);
      return { status: 400, requestId: 'x' };
    },
    loop: { now: () => 0, nextTurn: (act) => void acts.push(act) },
  });
  // A turn begins 64 requests of a lone client, and this one does not end.
  await exchangeRaw(listener.url, head('GET /').repeat(63) + lastHead('GET /'));
  done.length = 0;
});
afterEach(() => listener.close(0));

function endTurn(): void {
  for (const act of acts.splice(0)) act();
}

/** Opens a connection with a request that waits. */
async function waiting(bytes = head('GET /first')): Promise<RawConnection> {
  const client = await open(listener.url, bytes);
  await until(() => acts.length === 1);
  return client;
}

describe('a request that waits for its turn', () => {
  test('begins in the next turn', async () => {
    const client = await waiting();
    expect(done).toEqual([]);
    endTurn();
    await client.has('answer to /first');
  });

  test.each([
    ['malformed bytes', 'GARBAGE\r\n\r\n', 'request.malformed'],
    ['an upgrade', head('GET /socket', 'Connection: Upgrade', 'Upgrade: websocket'), 'request.framing'],
    ['CONNECT', head('CONNECT gateway.test:443'), 'request.target'],
    ['too many requests', head('GET /more').repeat(65), 'request.framing'],
  ])('begins before %s in a later packet end the connection', async (_what, bytes, reason) => {
    const client = await waiting();
    client.socket.write(bytes);
    await until(() => client.ended() !== undefined);
    expect(done).toEqual(['GET /first', reason]);
    endTurn();
    expect(done).toEqual(['GET /first', reason]);
  });

  test('is answered before malformed bytes end the connection', async () => {
    const client = await waiting(`${head('GET /first')}GARBAGE\r\n\r\n`);
    await until(() => client.ended() !== undefined);
    expect(client.received()).toContain('answer to /first');
    expect(client.received().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  test('is answered if the client ends its side', async () => {
    const client = await waiting();
    client.socket.end();
    await client.has('answer to /first');
    await until(() => client.ended() === 'end');
    endTurn();
    expect(done).toEqual(['GET /first']);
  });

  test('takes turns with other clients also behind another request of its connection', async () => {
    const client = await waiting(head('GET /held') + head('GET /second'));
    endTurn();
    // The rest of the turn.
    await exchangeRaw(listener.url, head('GET /').repeat(62) + lastHead('GET /'));
    release();
    await client.has('answer to /held');
    await until(() => acts.length === 1);
    expect(done).not.toContain('GET /second');
    endTurn();
    await client.has('answer to /second');
  });
});
