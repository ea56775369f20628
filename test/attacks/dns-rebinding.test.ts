import { describe, expect, test } from 'vitest';
import { lastHead } from '../support/raw.ts';
import { handshake, question } from './requests.ts';
import { startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

// test/core/gateway/listen/allow.test.ts has the tables of hosts and origins.

const foreign = 'Origin: https://evil.example';
const starts = ['GET /public', 'GET /api', 'POST /mcp', 'OPTIONS /mcp', 'GET /socket'];

const world = startBeforeAll(startAttackWorld);

describe('a page of another origin', () => {
  test.each(starts)('gets 403 that it cannot read, with or without a token: %s', async (start) => {
    for (const credential of [world.authorization, 'X-None: 1', 'Access-Control-Request-Method: GET']) {
      const attack = lastHead(start, foreign, credential);
      const { answers } = await world.refuses(attack, 403, 'request.origin');
      expect(answers[0]).not.toMatch(/access-control-allow/i);
    }
  });

  test('gets 403 for a WebSocket handshake, which browsers send without a preflight', async () => {
    const attack = lastHead('GET /socket', world.authorization, foreign, ...handshake).replace('close', 'Upgrade');
    await world.refuses(attack, 403, 'request.origin');
  });

  test('gets 403 if a proxy asks about it', async () => {
    await world.refuses(question('/public', foreign), 403, 'request.origin', world.gateway.forwardAuthUrl);
  });
});

test.each(starts)('refuses a name that was rebound to the gateway’s address: %s', async (start) => {
  for (const origin of ['http://evil', 'http://gateway.test']) {
    const attack = lastHead(start, `Origin: ${origin}`, world.authorization).replace('gateway.test', 'evil:8080');
    await world.refuses(attack, 403, 'request.host');
  }
});

test('serves its own pages, and lets every page read the metadata, which holds no secret', async () => {
  const own = lastHead('GET /public', 'Origin: http://gateway.test');
  await world.forwards(own, 'GET /public');
  const attack = lastHead('GET /.well-known/oauth-protected-resource/mcp', foreign);
  const { answers } = await world.withstand(attack, { statuses: [200] });
  expect(answers[0]).toMatch(/access-control-allow-origin: \*/i);
});
