import { describe, expect, test } from 'vitest';
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

const refused = { statuses: [403], reasons: ['request.unlisted'] } as const;
const malformed = { statuses: [400], reasons: ['request.path'] } as const;

describe('R-297: a request passes only where an entry decides it', () => {
  test.each([
    [
      'GET /shop/orders/1?x=/shop/orders/secret',
      { statuses: [200], reached: ['GET /shop/orders/1?x=/shop/orders/secret'] },
    ],
    ['HEAD /shop/orders/1', { statuses: [200], reached: ['HEAD /shop/orders/1'] }],
    ['POST /shop/orders', { statuses: [200], reached: ['POST /shop/orders'] }],
    ['GET /shop/orders/secret', { statuses: [403], reasons: ['scope.insufficient'] }],
    ['HEAD /shop/orders/secret', { statuses: [403], reasons: ['scope.insufficient'] }],
    ['DELETE /shop/orders/1', { statuses: [403], reasons: ['scope.insufficient'] }],
    ['PUT /shop/orders/1', { statuses: [405], reasons: ['route.method'] }],
    // test/policy/requests.test.ts and test/pipeline/route/target.test.ts have the tables of spellings.
    ['POST /shop/orders/', refused],
    ['GET /shop/orders/Secret', refused],
    ['GET /shop/orders/%EF%BD%93ecret', refused],
    ['GET /shop/orders/secre%74', malformed],
    ['GET /shop/orders/1/../secret', malformed],
    ['GET http://gateway.test/shop/orders/1', { statuses: [400], reasons: ['request.target'] }],
  ] as const)('%s', async (request, expected) => {
    const { answers } = await world.withstand(lastHead(request, world.authorization), expected);
    const hasChallenge = /^www-authenticate:/im.test(answers[0] ?? '');
    expect(hasChallenge).toBe('reasons' in expected && expected.reasons[0] === 'scope.insufficient');
  });

  test.each(['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'])(
    '%s changes no decision',
    async (name) => {
      const { wire } = await world.withstand(lastHead('GET /shop/orders/1', world.authorization, `${name}: DELETE`), {
        statuses: [200],
        reached: ['GET /shop/orders/1'],
      });
      expect(wire.join('')).not.toMatch(/method/i);
    },
  );

  test('a request permits the next one only if it was answered without an error', async () => {
    const pay = lastHead('POST /shop/pay', world.authorization);
    const missing = { statuses: [403], reasons: ['history.missing'] } as const;
    await world.withstand(pay, missing);
    const [failed, passed] = ['fail', 'pass'].map((way) => `POST /shop/approvals/${way}`);
    await world.withstand(lastHead(failed ?? '', world.authorization), { statuses: [500], reached: [failed ?? ''] });
    await world.withstand(pay, missing);
    await world.withstand(lastHead(passed ?? '', world.authorization), { statuses: [200], reached: [passed ?? ''] });
    await world.withstand(pay, { statuses: [200], reached: ['POST /shop/pay'] });
  });

  test('a WebSocket handshake that reached the upstream stays counted', async () => {
    const opening = head('GET /live', 'Connection: Upgrade', world.authorization, ...handshake);
    await world.withstand(opening, { statuses: [200], reached: ['GET /live'], reasons: ['allow'] });
    await world.withstand(opening, { statuses: [429], reasons: ['quota.exceeded'] });
  });

  test('a HEAD uses up the quota of GET', async () => {
    const passes = { statuses: [200], reasons: ['allow'] } as const;
    await world.withstand(lastHead('HEAD /shop/counted', world.authorization), {
      ...passes,
      reached: ['HEAD /shop/counted'],
    });
    await world.withstand(lastHead('GET /shop/counted', world.authorization), {
      ...passes,
      reached: ['GET /shop/counted'],
    });
    const exceeded = { statuses: [429], reasons: ['quota.exceeded'] } as const;
    await world.withstand(lastHead('HEAD /shop/counted', world.authorization), exceeded);
  });

  test.each([
    ['GET /_sallyport/authorize/shop/orders/1', [], { statuses: [200], reasons: ['allow'] }],
    ['GET /_sallyport/authorize/shop/orders/Secret', [], refused],
    [
      'GET /_sallyport/authorize',
      ['X-Forwarded-Method: POST', 'X-Forwarded-Uri: /shop/orders/1', 'X-Forwarded-Host: gateway.test'],
      refused,
    ],
  ] as const)('a question of a proxy is decided alike: %s %j', async (question, fields, expected) => {
    await world.withstand(lastHead(question, world.authorization, ...fields), expected, world.gateway.forwardAuthUrl);
  });
});
