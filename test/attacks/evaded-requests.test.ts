import { describe, expect, test } from 'vitest';
import type { Reason } from '../../src/core/model/reasons.ts';
import { head, lastHead } from '../support/raw.ts';
import { handshake } from './requests.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(() =>
  startAttackWorld({
    routes: [
      'name: live, path: /live, audience: https://api.example, authorization_servers: [main], policy: live, upgrade: websocket, upstream: { url: UPSTREAM/live }',
      'name: shop, path: /shop, audience: https://api.example, authorization_servers: [main], policy: shop, methods: [GET, HEAD, POST, DELETE], upstream: { url: UPSTREAM/shop }',
    ],
    answer: ({ url }, response) =>
      void response
        .writeHead(url?.endsWith('/fail') === true ? 500 : 200)
        .end(url?.endsWith('/fail') === true ? '' : UPSTREAM_TEXT),
    policies: {
      live: 'scope: read\nrequests: { GET /live: { quota: [{ count: 1, per: 1h }] } }\n',
      shop: `
scope: read
requests:
  'GET /shop/orders/**': {}
  'GET /shop/orders/secret': { scope: admin }
  'POST /shop/orders': {}
  'DELETE /shop/orders/*': { scope: admin }
  'POST /shop/approvals/*': {}
  'POST /shop/pay': { after: { request: 'POST /shop/approvals/*', within: 1h } }
  'GET /shop/counted': { quota: [{ count: 2, per: 1h }] }
`,
    },
  }),
);

describe('R-297: a request passes only where an entry decides it', () => {
  test.each<[request: string, status: number, reason?: Reason]>([
    ['GET /shop/orders/1?x=/shop/orders/secret', 200],
    ['HEAD /shop/orders/1', 200],
    ['POST /shop/orders', 200],
    ['GET /shop/orders/secret', 403, 'scope.insufficient'],
    ['HEAD /shop/orders/secret', 403, 'scope.insufficient'],
    ['DELETE /shop/orders/1', 403, 'scope.insufficient'],
    ['PUT /shop/orders/1', 405, 'route.method'],
    // test/core/policy/requests.test.ts and test/core/gateway/route/target.test.ts have the tables of spellings.
    ['POST /shop/orders/', 403, 'request.unlisted'],
    ['GET /shop/orders/Secret', 403, 'request.unlisted'],
    ['GET /shop/orders/secre%74', 400, 'request.path'],
    ['GET /shop/orders/1/../secret', 400, 'request.path'],
    ['GET http://gateway.test/shop/orders/1', 400, 'request.target'],
  ])('%s', async (request, status, reason) => {
    const sent = lastHead(request, world.authorization);
    const { answers } = await (reason === undefined
      ? world.forwards(sent, request)
      : world.refuses(sent, status, reason));
    const hasChallenge = /^www-authenticate:/im.test(answers[0] ?? '');
    expect(hasChallenge).toBe(reason === 'scope.insufficient');
  });

  test.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])(
    '%s changes no decision',
    async (name) => {
      const { wire } = await world.forwards(
        lastHead('GET /shop/orders/1', world.authorization, `${name}: DELETE`),
        'GET /shop/orders/1',
      );
      expect(wire.join('')).not.toMatch(/method/i);
    },
  );

  test('a request permits the next one only if it was answered without an error', async () => {
    const pay = lastHead('POST /shop/pay', world.authorization);
    await world.refuses(pay, 403, 'history.missing');
    const [failed = '', passed = ''] = ['fail', 'pass'].map((way) => `POST /shop/approvals/${way}`);
    await world.withstand(lastHead(failed, world.authorization), { statuses: [500], reached: [failed] });
    await world.refuses(pay, 403, 'history.missing');
    await world.forwards(lastHead(passed, world.authorization), passed);
    await world.forwards(pay, 'POST /shop/pay');
  });

  test('a WebSocket handshake that reached the upstream stays counted', async () => {
    const opening = head('GET /live', 'Connection: Upgrade', world.authorization, ...handshake);
    await world.forwards(opening, 'GET /live');
    await world.refuses(opening, 429, 'quota.exceeded');
  });

  test('a HEAD uses up the quota of GET', async () => {
    const counted = (method: string): string => lastHead(`${method} /shop/counted`, world.authorization);
    for (const method of ['HEAD', 'GET']) await world.forwards(counted(method), `${method} /shop/counted`);
    await world.refuses(counted('HEAD'), 429, 'quota.exceeded');
  });

  test.each([
    ['GET /_sallyport/authorize/shop/orders/1', [], { statuses: [200], reasons: ['allow'] }],
    ['GET /_sallyport/authorize/shop/orders/Secret', [], { statuses: [403], reasons: ['request.unlisted'] }],
    [
      'GET /_sallyport/authorize',
      ['X-Forwarded-Method: POST', 'X-Forwarded-Uri: /shop/orders/1', 'X-Forwarded-Host: gateway.test'],
      { statuses: [403], reasons: ['request.unlisted'] },
    ],
  ] as const)('a question of a proxy is decided alike: %s %j', async (question, fields, expected) => {
    await world.withstand(lastHead(question, world.authorization, ...fields), expected, world.gateway.forwardAuthUrl);
  });
});
