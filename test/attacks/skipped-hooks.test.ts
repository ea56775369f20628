import { describe, expect, test } from 'vitest';
import { lastHead, open } from '../support/raw.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

const tools = (method: string, params = {}): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

describe.each([
  ['http', { tls: false }],
  ['https', { tls: true }],
  ['http beside another client', { inTurn: true }],
])('a client that expects 100-continue, over %s', (_how, options) => {
  const world = startBeforeAll(() => startAttackWorld(options));

  /** Sends a head and waits for the answer to it, then sends the body. */
  async function asked(start: string, lines: readonly string[], body: string): Promise<string> {
    const client = await open(world.url, lastHead(start, 'Expect: 100-continue', ...lines));
    await client.has(/HTTP\/1\.1 \d{3} [^]*\r\n\r\n/);
    const first = client.received();
    if (first.startsWith('HTTP/1.1 100 ')) client.socket.write(body);
    await client.has(/HTTP\/1\.1 [2-5]\d\d [^]*\r\n\r\n/);
    client.socket.destroy();
    return first.slice(9, 12);
  }

  const bodies = [
    ['counted', 'Content-Length: 4', 'body'],
    ['chunked', 'Transfer-Encoding: chunked', '4\r\nbody\r\n0\r\n\r\n'],
  ] as const;

  describe.each(bodies)('%s', (_framing, framing, body) => {
    test.each([
      ['no token', 'POST /api', [], '401'],
      ['a token that is none', 'POST /api', ['Authorization: Bearer x'], '401'],
      ['two tokens', 'POST /api', ['Authorization: Bearer x', 'Authorization: Bearer x'], '400'],
      ['another origin', 'POST /public', ['Origin: http://evil'], '403'],
      ['no token, MCP', 'POST /mcp', ['Content-Type: application/json'], '401'],
    ])('RFC 9110 §10.1.1 — is refused without a request for the body: %s', async (_what, start, lines, status) => {
      expect(await asked(start, [...lines, framing], body)).toBe(status);
    });

    test('is refused for its scope before the body', async () => {
      expect(await asked('POST /admin', [world.authorization, framing], body)).toBe('403');
    });

    test('is asked for an allowed body, which arrives without the expectation', async () => {
      world.upstream.seen.length = 0;
      expect(await asked('POST /api', [world.authorization, framing], body)).toBe('100');
      expect(world.upstream.seen).toMatchObject([{ url: '/api', body: 'body' }]);
      expect(world.upstream.seen[0]?.headers.expect).toBeUndefined();
    });

    test('is served even if it does not wait', async () => {
      const attack = lastHead('POST /api', 'Expect: 100-continue', world.authorization, framing) + body;
      const { reached } = await world.forwards(attack, 'POST /api');
      expect(reached).toMatchObject([{ body: 'body' }]);
    });

    test('gets no second request read after a refusal, whether it sends the body or not', async () => {
      const second = lastHead('GET /public/second');
      for (const lines of [[framing], ['Authorization: Bearer x', framing]]) {
        const attack = lastHead('POST /api', 'Expect: 100-continue', ...lines).replace('Connection: close\r\n', '');
        // What stands in the place of a chunk may be found to be none before the token is.
        if (framing.startsWith('Content')) await world.refuses(attack + second, 401);
        await world.refuses(attack + body + second, 401);
      }
    });
  });

  test('is asked for a message after its token is accepted', async () => {
    const body = tools('tools/call', { name: 'get_price' });
    const lines = [world.authorization, 'Content-Type: application/json', `Content-Length: ${body.length}`];
    expect(await asked('POST /mcp', lines, body)).toBe('100');
    expect(await asked('POST /mcp', [...lines.slice(0, 2), 'Content-Length: 9999999'], body)).toBe('413');
  });

  test('gets no interim answer in HTTP/1.0', async () => {
    const attack = lastHead('POST /api', 'Expect: 100-continue', world.authorization, 'Content-Length: 4');
    const { answers } = await world.forwards(`${attack.replace('HTTP/1.1', 'HTTP/1.0')}body`, 'POST /api');
    expect(answers.join('')).not.toContain('100 Continue');
  });
});
