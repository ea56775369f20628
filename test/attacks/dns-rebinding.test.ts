import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lastHead } from '../support/raw.ts';
import { type AttackWorld, startAttackWorld } from '../worlds/attacks.ts';

const foreign = [
  'http://evil',
  'https://evil.example',
  'null',
  'NULL',
  'http://gateway.test.evil',
  'http://evil-gateway.test',
  'http://gateway.test:8080',
  'https://gateway.test',
  'HTTP://GATEWAY.TEST',
  'http://gateway.test/',
  'http://gateway.test, http://evil',
  'http://gateway.test@evil',
  'http://localhost.evil',
  'http://localhost:80@evil',
  'http://127.0.0.1.evil',
  'http://127.0.0.2',
  'http://2130706433',
  'http://0.0.0.0',
  'http://[::]',
  'http://192.168.0.1',
  'file://',
  'chrome-extension://x',
  'gateway.test',
  '*',
];
const own = [
  'http://gateway.test',
  'http://localhost',
  'http://localhost:6274',
  'https://127.0.0.1:1',
  'http://[::1]:3000',
];
const starts = [
  'GET /public',
  'POST /public',
  'GET /api',
  'DELETE /admin',
  'POST /mcp',
  'GET /mcp',
  'OPTIONS /mcp',
  'GET /socket',
];

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld();
});
afterAll(() => world.close());

describe('a page of another origin', () => {
  test.each(starts)(
    'gets 403 that it cannot read, with or without a token: %s',
    async (start) => {
      for (const origin of foreign) {
        for (const credential of [world.authorization, 'X-None: 1', 'Access-Control-Request-Method: GET']) {
          const { answers, decisions } = await world.withstand(lastHead(start, `Origin: ${origin}`, credential), {
            statuses: [403],
          });
          expect(decisions, origin).toMatchObject([{ reason: 'request.origin' }]);
          expect(answers[0]).not.toMatch(/access-control-allow/i);
        }
      }
    },
    60_000,
  );

  test('gets 403 for a WebSocket handshake, which browsers send without a preflight', async () => {
    const handshake = [
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    for (const origin of foreign) {
      const attack = lastHead('GET /socket', world.authorization, `Origin: ${origin}`, ...handshake).replace(
        'close',
        'Upgrade',
      );
      await world.withstand(attack, { statuses: [403], reasons: ['request.origin'] });
    }
  });

  test('gets 403 if a proxy asks about it', async () => {
    for (const origin of foreign) {
      const asked = ['X-Forwarded-Method: GET', 'X-Forwarded-Uri: /public', 'X-Forwarded-Host: gateway.test'];
      const question = lastHead('GET /_sallyport/authorize', ...asked, `Origin: ${origin}`);
      await world.withstand(question, { statuses: [403], reasons: ['request.origin'] }, world.gateway.forwardAuthUrl);
    }
  });
});

test('serves pages of its own origin and of the same machine', async () => {
  for (const origin of own) {
    await world.withstand(lastHead('GET /public', `Origin: ${origin}`), {
      statuses: [200],
      reached: ['GET /public'],
      reasons: ['allow'],
    });
  }
});

test('refuses a name that was rebound to the gateway’s address, with any Origin', async () => {
  for (const start of starts) {
    for (const origin of ['http://evil', 'http://gateway.test', 'http://localhost']) {
      const attack = lastHead(start, `Origin: ${origin}`, world.authorization).replace(
        'Host: gateway.test',
        'Host: evil:8080',
      );
      await world.withstand(attack, { statuses: [403], reasons: ['request.host'] });
    }
  }
});

test('lets every page read the metadata, which holds no secret', async () => {
  const attack = lastHead('GET /.well-known/oauth-protected-resource/mcp', 'Origin: http://evil');
  const { answers } = await world.withstand(attack, { statuses: [200] });
  expect(answers[0]).toMatch(/access-control-allow-origin: \*/i);
});
