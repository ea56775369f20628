import { beforeEach, describe, expect, test } from 'vitest';
import { exchangeRaw, head, lastHead, open } from '../support/raw.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { until } from '../support/until.ts';

/** Methods whose body some forwarders drop or some servers ignore, and unknown methods. */
const methods = ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'];

const inner = 'GET /admin/inner HTTP/1.1\r\nHost: gateway.test\r\nX-Auth-Subject: mallory\r\n\r\n';
const chunk = (text: string, size = text.length.toString(16)): string => `${size}\r\n${text}\r\n`;

/** Ways to send a body that every implementation of RFC 9112 §7.1 reads alike. */
const framings: Readonly<Record<string, (body: string) => readonly [line: string, bytes: string]>> = {
  counted: (body) => [`Content-Length: ${body.length}`, body],
  'one chunk': (body) => ['Transfer-Encoding: chunked', `${chunk(body)}0\r\n\r\n`],
  'a chunk a byte': (body) => [
    'Transfer-Encoding: chunked',
    `${body.replaceAll(/[^]/g, (byte) => chunk(byte))}0\r\n\r\n`,
  ],
  'sizes with zeros and capitals': (body) => [
    'transfer-encoding: CHUNKED',
    `${chunk(body, body.length.toString(16).toUpperCase().padStart(8, '0'))}000\r\n\r\n`,
  ],
  'extensions and trailers': (body) => [
    'Transfer-Encoding: chunked',
    `${chunk(body, `${body.length.toString(16)};a="0"`)}0;b\r\nX-Auth-Subject: mallory\r\n\r\n`,
  ],
};

/** One request as an upstream must find it: a head that says once, by either field, where the body ends. */
function framedBody(wire: string): string {
  const end = wire.indexOf('\r\n\r\n');
  const lines = wire.slice(0, end).toLowerCase().split('\r\n');
  const framing = lines.filter((line) => /^(?:content-length|transfer-encoding)\s*:/.test(line));
  expect(framing.length).toBeLessThanOrEqual(1);
  let rest = wire.slice(end + 4);
  const [field = 'content-length: 0'] = framing;
  if (field.startsWith('content-length: ')) {
    if (rest.length !== Number(field.slice('content-length: '.length)))
      throw new Error(`${rest.length} bytes, ${field}`);
    return rest;
  }
  expect(field).toBe('transfer-encoding: chunked');
  let body = '';
  for (;;) {
    const [line, digits = ''] = /^([0-9a-f]+)\r\n/.exec(rest) ?? ['', ''];
    const size = Number.parseInt(digits, 16);
    rest = rest.slice(line.length);
    if (size === 0) break;
    body += rest.slice(0, size);
    expect(rest.slice(size, size + 2)).toBe('\r\n');
    rest = rest.slice(size + 2);
  }
  expect(rest).toBe('\r\n');
  return body;
}

describe.each([
  ['http', { tls: false }, methods],
  ['https', { tls: true }, ['POST', 'GET']],
  ['http beside another client', { inTurn: true }, ['POST', 'GET']],
])('a second request within a body, over %s', (_how, options, methods) => {
  const world = startBeforeAll(() => startAttackWorld(options));

  describe.each(Object.entries(framings))('%s', (framing, frame) => {
    const [line, bytes] = frame(inner);

    const tried = methods.filter((method) => framing === 'counted' || framing === 'one chunk' || method === 'POST');

    test.each(tried)('reaches the upstream as the body of one request: %s', async (method) => {
      for (const [target, credential] of [
        ['/public/outer', 'X-Kept: 1'],
        ['/api/outer', world.authorization],
      ] as const) {
        const attack = head(`${method} ${target}`, credential, line) + bytes + lastHead('GET /public/next');
        const { wire, reached } = await world.withstand(attack, {
          statuses: [200, 200],
          reached: [`${method} ${target}`, 'GET /public/next'],
          reasons: ['allow', 'allow'],
        });
        expect(reached.map(({ body }) => body)).toEqual([inner, '']);
        const requests = wire.flatMap((bytes) => bytes.split(/(?=GET \/public\/next )/));
        const [second = '', first = ''] = requests.toSorted((one) => (one.startsWith('GET /public/next ') ? -1 : 1));
        expect(requests).toHaveLength(2);
        expect(framedBody(first)).toBe(inner);
        expect(framedBody(second)).toBe('');
        expect(first.slice(0, first.indexOf('\r\n\r\n'))).not.toMatch(/mallory|trailer/i);
      }
    });

    test.each(tried)('does not reach the upstream after a refusal: %s', async (method) => {
      // The signature of the last one is verified in another thread, while the rest of the bytes is parsed.
      const foreign = `Authorization: Bearer ${await world.token({ aud: 'https://other.example' })}`;
      for (const credential of ['X-Kept: 1', 'Authorization: Bearer x', foreign]) {
        const attack = head(`${method} /api/outer`, credential, line) + bytes;
        await world.withstand(attack + lastHead('GET /nowhere'), {
          statuses: line.startsWith('Content-Length') ? [401, 404] : [401],
        });
      }
    });
  });

  test('is not read as a request if the upstream answers early', async () => {
    const { reached } = await world.withstand(
      head('POST /api', world.authorization, `Content-Length: ${inner.length}`) +
        inner +
        lastHead('POST /mcp', 'Content-Length: 2') +
        '[]',
      { statuses: [200, 401], reached: ['POST /api'], reasons: ['allow', 'credentials.missing'] },
    );
    expect(reached[0]?.body).toBe(inner);
  });
});

describe.each([
  ['alone', false],
  ['beside another client', true],
])('many requests on one connection, %s', (_how, inTurn) => {
  /** Answers that the upstream holds back. */
  const held: (() => void)[] = [];
  const world = startBeforeAll(() =>
    startAttackWorld({
      inTurn,
      answer(request, response) {
        const answer = (): void => void response.end(UPSTREAM_TEXT);
        if (request.url?.startsWith('/public/held') === true) held.push(answer);
        else answer();
      },
    }),
  );
  // Without a connection upstream, a client that floods is shown out before its first request is there.
  beforeEach(async () => {
    await exchangeRaw(world.url, lastHead('GET /public/end'));
    held.length = 0;
  });

  test('use the upstream one at a time', async () => {
    const requests = Array.from({ length: 40 }, (_, i) => head(`GET /public/held/${i}`)).join('');
    const client = await open(world.url, requests + lastHead('GET /public/end'));
    for (let i = 0; i < 40; i += 1) {
      await until(() => held.length === i + 1);
      expect(world.upstream.seen.at(-1)?.url).toBe(`/public/held/${i}`);
      // A second one at most, where the first is only just done.
      expect(world.upstream.sockets.size).toBeLessThanOrEqual(2);
      held[i]?.();
    }
    await until(() => client.ended() === 'end');
    expect(client.received().match(/HTTP\/1\.1 200 /g)).toHaveLength(41);
  });

  test('end the connection if the client only sends', async () => {
    world.upstream.seen.length = 0;
    await world.gateway.clearLog();
    const client = await open(world.url, head('GET /public/held/first') + head('GET /public/more').repeat(5_000));
    await until(() => client.ended() !== undefined);
    expect(world.upstream.seen.map(({ url }) => url)).toEqual(['/public/held/first']);
    await world.refuses(lastHead('GET /nowhere'), 404, 'route.unknown');
  });

  test('are logged once', async () => {
    const flood = head('GET /public/held/first') + head('GET /public/more').repeat(5_000);
    const { decisions } = await world.withstand(flood, { statuses: [], reached: ['GET /public/held/first'] });
    // The second is refused before it is routed, and may be decided on first.
    expect(new Set(decisions.map(({ reason = 'allow' }) => reason))).toEqual(new Set(['allow', 'request.framing']));
    expect(decisions).toHaveLength(2);
  });

  test('are not served after an answer that closes the connection', async () => {
    for (const closing of ['Connection: close', 'Transfer-Encoding: chunked']) {
      const body = closing.startsWith('Transfer') ? '3\r\nabc\r\n0\r\n\r\n' : '';
      await world.refuses(
        head('POST /api', closing) + body + head('DELETE /public/after') + inner,
        401,
        'credentials.missing',
      );
    }
  });

  test('are answered before malformed bytes or an upgrade behind them end the connection', async () => {
    const handshake = head('GET /socket', 'Connection: Upgrade', 'Upgrade: websocket', world.authorization);
    for (const [behind, reason] of [
      ['GARBAGE\r\n\r\n', 'request.malformed'],
      [handshake, 'request.framing'],
      [head('CONNECT gateway.test:443'), 'request.target'],
    ] as const) {
      await world.withstand(head('GET /api') + behind, {
        statuses: [401, 400],
        reasons: ['credentials.missing', reason],
      });
    }
  });

  test('are one for each connection in HTTP/1.0', async () => {
    const request = 'GET /public/old HTTP/1.0\r\nHost: gateway.test\r\n\r\n';
    await world.forwards(request + request + inner, 'GET /public/old');
  });
});
