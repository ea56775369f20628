import { describe, expect, test } from 'vitest';
import { head } from '../support/raw.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

const inner = 'GET /admin/inner HTTP/1.1\r\nHost: gateway.test\r\n\r\n';
const chunked = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;

/** Two fields, or one that some read as two or as none. */
const lengths = [
  'Content-Length: 0',
  'Content-Length: 4',
  'Content-Length: +4',
  'Content-Length: 4 4',
  'Content-Length: 0x4',
  'Content-Length: ４',
  'Content-Length: 4, 4',
  'Content-Length: -1',
  'Content-Length:',
  'Content-Length: 99999999999999999999',
];
const codings = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: ,chunked,',
  'Transfer-Encoding:\tidentity',
  'Transfer-Encoding: chun\u212aed',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: \x0bchunked',
];
const ambiguous = [
  ...lengths.slice(0, 3).flatMap((length) =>
    codings.flatMap((coding) => [
      [length, coding],
      [coding, length],
    ]),
  ),
  ...codings.slice(1).map((coding) => [coding]),
  ...lengths.slice(2).map((length) => [length]),
  ...lengths.map((length) => [length, 'Content-Length: 5']),
  ['Transfer-Encoding: chunked', 'transfer-encoding: chunked'],
  ['Transfer-Encoding : chunked'],
  ['\tTransfer-Encoding: chunked'],
  ['Transfer-Encoding:', ' chunked'],
  ['X-A: 1', ' Transfer-Encoding: chunked'],
  ['X-A: 1\nTransfer-Encoding: chunked'],
  ['X-A: 1\rContent-Length: 4'],
  ['X-A: 1\0'],
  ['X-A'],
  [': x'],
];

/** Fields that decide something, and may stand once; test/core/gateway/listen/fields.test.ts has the table. */
const singletons: readonly (readonly [field: string, values: readonly string[]])[] = [
  ['Host', ['gateway.test', 'evil']],
  ['Authorization', ['Bearer x', 'Basic eDp5']],
  ['Mcp-Method', ['ping', 'tools/call']],
];

describe.each(['http', 'https'])('over %s', (scheme) => {
  const world = startBeforeAll(() => startAttackWorld({ tls: scheme === 'https' }));

  test('answers 400 to a request whose body has two possible ends, and forwards nothing', async () => {
    const attacks = scheme === 'http' ? ambiguous : ambiguous.filter((_, i) => i % 16 === 0);
    for (const [i, fields] of attacks.entries()) {
      const method = ['POST', 'GET', 'DELETE', 'OPTIONS', 'PROPFIND'][i % 5];
      const bytes = head(`${method} ${i % 2 === 0 ? '/public' : '/api'}`, world.authorization, ...fields);
      const attack = Buffer.from(bytes + chunked + inner, 'utf8');
      const { decisions } = await world.refuses(attack, 400);
      expect(decisions[0]?.['reason'], fields.join()).toMatch(/^request\.(?:malformed|framing|duplicate_header)$/);
    }
  });

  test.each([
    ['lines that end with a line feed', 'GET /public HTTP/1.1\nHost: gateway.test\n\n'],
    ['an end that is a line feed', 'GET /public HTTP/1.1\r\nHost: gateway.test\r\n\n'],
    ['a length of a chunk that is none', `${head('POST /public', 'Transfer-Encoding: chunked')}x\r\n`],
    ['a chunk that is longer', `${head('POST /public', 'Transfer-Encoding: chunked')}3\r\nabcd\r\n0\r\n\r\n`],
    ['a chunk that ends with a line feed', `${head('POST /public', 'Transfer-Encoding: chunked')}3\nabc\n0\n\n`],
  ])('answers 400 to %s, and forwards nothing whole', async (_what, attack) => {
    await world.refuses(attack, 400);
  });

  test.each(singletons)('answers 400 to two %s, in either order and any spelling', async (field, [one, two]) => {
    const reason = field === 'Authorization' ? 'request.credentials' : 'request.duplicate_header';
    for (const [first, second] of [
      [one, two],
      [two, one],
    ]) {
      const lines = [`${field}: ${first}`, 'X-Between: 1', `${field.toUpperCase()}: ${second}`];
      const attack = `GET /mcp HTTP/1.1\r\n${field === 'Host' ? '' : 'Host: gateway.test\r\n'}Connection: close\r\n${lines.join('\r\n')}\r\n\r\n`;
      await world.refuses(attack, 400, reason);
    }
  });

  test.each([
    ['chunked', chunked],
    ['chunked, and a length', chunked],
    ['nothing but its end', '0\r\n\r\n'],
  ])('answers 400 to a transfer coding in HTTP/1.0 and closes the connection: %s', async (title, body) => {
    const old = (...lines: readonly string[]): string =>
      head('POST /public', 'Connection: keep-alive', 'Transfer-Encoding: chunked', ...lines).replace('1.1', '1.0');
    const attack = old(...(title.endsWith('length') ? ['Content-Length: 4'] : [])) + body + inner;
    const reason = title.endsWith('length') ? 'request.malformed' : 'request.framing';
    await world.refuses(attack, 400, reason);
    if (title.endsWith('length')) return;
    // Behind another one the whole body has come before it is refused.
    const first = head('GET /public');
    await world.withstand(first + attack, {
      statuses: [200, 400],
      reached: ['GET /public'],
      reasons: ['allow', reason],
    });
  });
});
