import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { head, lastHead } from '../support/raw.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

const methods = ['GET', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'];
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
];
const codings = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: ,chunked,',
  'Transfer-Encoding:\tidentity',
  'Transfer-Encoding: chun\u212aed',
];
const ambiguous = [
  ...lengths.flatMap((length) =>
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
  ['X-A: 1\nTransfer-Encoding: chunked'],
  ['X-A: 1\rContent-Length: 4'],
  ['X-A: 1\0'],
];

/** Fields that decide something, and may stand once. */
const singletons: readonly (readonly [field: string, values: readonly string[]])[] = [
  ['Host', ['gateway.test', 'evil']],
  ['Authorization', ['Bearer x', 'Basic eDp5']],
  ['DPoP', ['x', 'y']],
  ['Origin', ['http://gateway.test', 'http://evil']],
  ['Content-Type', ['application/json', 'text/plain']],
  ['Content-Encoding', ['identity', 'gzip']],
  ['Upgrade', ['h2c', 'websocket']],
  ['Mcp-Session-Id', ['a', 'b']],
  ['Mcp-Method', ['ping', 'tools/call']],
  ['Mcp-Name', ['a', 'b']],
  ['Mcp-Protocol-Version', ['2025-11-25', '2026-07-28']],
  ['Last-Event-Id', ['1', '2']],
  ['Proxy-Authorization', ['Basic a', 'Basic b']],
];

describe.each(['http', 'https'])('over %s', (scheme) => {
  let world: AttackWorld;
  beforeAll(async () => {
    world = await startAttackWorld({ tls: scheme === 'https' });
  });
  afterAll(() => world.close());

  test.each(scheme === 'http' ? methods : ['POST'])(
    'answers 400 to %s whose body has two possible ends, and forwards nothing',
    async (method) => {
      for (const fields of scheme === 'http' ? ambiguous : ambiguous.filter((_, i) => i % 16 === 0)) {
        for (const target of method === 'POST' ? ['/public', '/api'] : ['/public']) {
          const attack = Buffer.from(
            head(`${method} ${target}`, world.authorization, ...fields) + chunked + inner,
            'utf8',
          );
          const { decisions } = await world.withstand(attack, { statuses: [400] });
          expect(decisions[0]?.['reason'], fields.join()).toMatch(/^request\.(?:malformed|framing|duplicate_header)$/);
        }
      }
    },
    60_000,
  );

  test.each(singletons)(
    'answers 400 to two %s, in either order and any spelling',
    async (field, [one, two]) => {
      const reason = field === 'Authorization' ? 'request.credentials' : 'request.duplicate_header';
      for (const [first, second] of [
        [one, two],
        [two, one],
        [one, one],
      ]) {
        for (const spelled of [field, field.toUpperCase()]) {
          for (const target of ['/api', '/mcp']) {
            const lines = [`${field}: ${first}`, 'X-Between: 1', `${spelled}: ${second}`];
            const attack = `GET ${target} HTTP/1.1\r\n${field === 'Host' ? '' : 'Host: gateway.test\r\n'}Connection: close\r\n${lines.join('\r\n')}\r\n\r\n`;
            await world.withstand(attack, { statuses: [400], reasons: [reason] });
          }
        }
      }
    },
    60_000,
  );

  test.each([
    ['chunked', chunked],
    ['chunked, and a length', chunked],
    ['nothing but its end', '0\r\n\r\n'],
  ])('answers 400 to a transfer coding in HTTP/1.0 and closes the connection: %s', async (title, body) => {
    const old = (...lines: readonly string[]): string =>
      head('POST /public', 'Connection: keep-alive', 'Transfer-Encoding: chunked', ...lines).replace('1.1', '1.0');
    const attack = old(...(title.endsWith('length') ? ['Content-Length: 4'] : [])) + body + inner;
    const reason = title.endsWith('length') ? 'request.malformed' : 'request.framing';
    await world.withstand(attack, { statuses: [400], reasons: [reason] });
    if (title.endsWith('length')) return;
    // Behind another one the whole body has come before it is refused.
    const first = head('GET /public');
    await world.withstand(first + attack, {
      statuses: [200, 400],
      reached: ['GET /public'],
      reasons: ['allow', reason],
    });
  });

  test('answers 400 to a token in two places, and ignores one in the query or a form', async () => {
    const { authorization } = world;
    const token = authorization.slice('Authorization: Bearer '.length);
    await world.withstand(lastHead(`GET /api?access_token=${token}`), {
      statuses: [401],
      reasons: ['credentials.missing'],
    });
    const form = `access_token=${token}`;
    const lines = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${form.length}`];
    await world.withstand(lastHead('POST /api', ...lines) + form, {
      statuses: [401],
      reasons: ['credentials.missing'],
    });
    await world.withstand(lastHead(`GET /api?access_token=${token}`, authorization), {
      statuses: [400],
      reasons: ['request.credentials'],
    });
  });
});
