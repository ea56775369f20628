import { describe, expect, test } from 'vitest';
import { head, lastHead } from '../support/raw.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { handshake as upgrade, question } from './requests.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';

const handshake = ['Connection: Upgrade', ...upgrade];
const second = 'GET /admin/second HTTP/1.1\r\nHost: gateway.test\r\n\r\n';
/** What HTTP/2 would be spoken with: RFC 9113 §3.4, and an empty SETTINGS frame. */
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';

const offers = ['h2c', 'H2C', 'h2c, websocket', 'websocket, h2c', 'h2', 'TLS/1.0', 'websocket/13', 'websocket2'];

describe.each([
  ['http', offers],
  ['https', offers.slice(0, 1)],
])('over %s', (scheme, offers) => {
  const world = startBeforeAll(() => startAttackWorld({ tls: scheme === 'https' }));

  test.each(offers)('ignores and drops Upgrade: %s, and serves the request', async (protocol) => {
    for (const target of ['/public', '/api', '/socket']) {
      const settings = [
        'Connection: Upgrade, HTTP2-Settings, close',
        `Upgrade: ${protocol}`,
        'HTTP2-Settings: AAMAAABkAAQAAP__',
      ];
      const attack = head(`GET ${target}`, world.authorization, ...settings);
      const { wire } = await world.forwards(attack, `GET ${target}`);
      // A signed identity may hold any letters.
      expect(wire.join('')).not.toMatch(/^(?:upgrade|http2-settings)\s*:|^connection:.*(?:upgrade|h2)/im);
    }
  });

  test('does not read HTTP/2 as a request, with or without an offer of h2c', async () => {
    const offer = head(
      'GET /public',
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABk',
    );
    await world.refuses(preface, 400, 'request.malformed');
    const { wire } = await world.forwards(lastHead('GET /public', 'Upgrade: h2c') + preface, 'GET /public');
    expect(wire.join('')).not.toContain('PRI');
    await world.refuses(offer.replace('/public', '/api') + preface, 401);
  });

  test.each(['/public', '/api', '/mcp'])('refuses a WebSocket on %s, and reads no request after it', async (target) => {
    for (const credential of [world.authorization, 'X-None: 1']) {
      await world.refuses(head(`GET ${target}`, credential, ...handshake) + second, 400, 'route.upgrade');
    }
  });

  test('authenticates a WebSocket first', async () => {
    for (const [lines, status, reason] of [
      [[], 401, 'credentials.missing'],
      [['Authorization: Bearer x'], 401, 'token.malformed|token.form'],
      [[world.authorization, world.authorization], 400, 'request.credentials'],
      [[world.authorization, 'Origin: http://evil'], 403, 'request.origin'],
      [[world.authorization, 'Content-Length: 3'], 400, 'request.framing'],
      [[world.authorization, 'Transfer-Encoding: chunked'], 400, 'request.framing'],
    ] as const) {
      const attack = head('GET /socket', ...lines, ...handshake) + second;
      await world.refuses(attack, status, reason);
    }
  });

  test.each(['POST', 'OPTIONS'])('refuses a handshake by %s', async (method) => {
    await world.refuses(head(`${method} /socket`, world.authorization, ...handshake) + second, 400, 'route.upgrade');
  });

  test('opens no tunnel if the upstream does not switch protocols', async () => {
    const attack = head('GET /socket', world.authorization, ...handshake) + second + second;
    const { wire } = await world.forwards(attack, 'GET /socket');
    expect(wire.join('')).not.toContain('second');
  });

  test('forwards an incomplete handshake as a plain request', async () => {
    for (const lines of [upgrade, ['Connection: close', ...upgrade]]) {
      const attack =
        head('GET /public', ...lines).replace('\r\n\r\n', '\r\nX-Last: 1\r\n\r\n') + lastHead('GET /nowhere');
      const closes = lines[0] === 'Connection: close';
      const { wire } = await world.withstand(attack, {
        statuses: closes ? [200] : [200, 404],
        reached: ['GET /public'],
      });
      expect(wire.join('')).not.toMatch(/^upgrade:/im);
    }
  });
});

test('refuses an upgrade in a proxy’s question', async () => {
  const world = await forThisTest(startAttackWorld());
  for (const protocol of ['h2c', 'H2C', 'websocket, h2c', 'TLS/1.0']) {
    for (const path of ['/public', '/socket']) {
      const asked = question(path, world.authorization, `Upgrade: ${protocol}`).replace('close', 'Upgrade, close');
      await world.refuses(asked, 400, 'route.upgrade', world.gateway.forwardAuthUrl);
    }
  }
});
