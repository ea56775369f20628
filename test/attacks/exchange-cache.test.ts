import { beforeAll, beforeEach, expect, test } from 'vitest';
import { get } from './requests.ts';
import { AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';

let granted: (form: URLSearchParams) => object;
const now = Date.now();

const exchange = (asked: string): string => `token: exchange, exchange: { server: main, ${asked} }`;

const world = startBeforeAll(() =>
  startAttackWorld({
    // The moment for which a refusal is remembered does not end.
    clock: () => now,
    server: 'introspection: { client_id: gateway, client_secret: s3cr3t-of-the-gateway }',
    routes: [
      `name: ex, path: /ex, audience: "${AUDIENCE}", upstream: { url: "UPSTREAM/ex", ${exchange('audience: b, scope: [api, more]')} }`,
      `name: ex2, path: /ex2, audience: "${AUDIENCE}", upstream: { url: "UPSTREAM/ex2", ${exchange('audience: c, scope: [api, more]')} }`,
    ],
  }),
);
beforeAll(async () => {
  world.issuer.answerAt('/token', (_request, response, body) => {
    const form = new URLSearchParams(body);
    const { sub } = JSON.parse(Buffer.from(form.get('subject_token')?.split('.')[1] ?? '', 'base64url').toString()) as {
      sub: string;
    };
    const answer = {
      access_token: `for-${sub}-at-${form.get('audience')}`,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 300,
      ...granted(form),
    };
    const status = 'error' in answer ? 400 : 200;
    sendJson(response, status, answer);
  });
});
beforeEach(() => {
  granted = () => ({});
  world.issuer.requests.length = 0;
});

const exchanges = (): number => world.issuer.requests.filter(({ path }) => path === '/token').length;

test('gives each of a hundred parallel callers their own token for each route', async () => {
  const tokens = await Promise.all(Array.from({ length: 50 }, (_, i) => world.token({ sub: `s${i}` })));
  const calls = tokens.flatMap((token, i) => ['/ex', '/ex2', '/ex'].map((path) => ({ token, i, path })));
  await Promise.all(
    calls.map(async ({ token, i, path }) => {
      const answer = await fetch(`${world.url}${path}?${i}`, { headers: { authorization: `Bearer ${token}` } });
      await answer.body?.cancel();
      expect(answer.status).toBe(200);
    }),
  );
  expect(world.upstream.seen).toHaveLength(150);
  for (const { url, headers } of world.upstream.seen) {
    const [path, i] = url.split('?');
    expect(headers.authorization).toBe(`Bearer for-s${i}-at-${path === '/ex' ? 'b' : 'c'}`);
  }
  expect(exchanges()).toBe(100);
  world.upstream.seen.length = 0;
});

// test/capabilities/exchange/issued-token.test.ts has the table of answers.
test.each<[string, object]>([
  ['another scope', { scope: 'apimore' }],
  ['a token that breaks a header', { access_token: 'x\r\nX-Injected: 1' }],
])('neither uses nor caches %s', async (what, otherwise) => {
  granted = () => otherwise;
  const token = await world.token({ jti: what });
  for (const _ of ['first', 'again']) {
    const { answers } = await world.withstand(get('/ex', token), {
      statuses: [expect.any(Number) as number],
      reached: [],
    });
    expect([403, 502]).toContain(Number(answers[0]?.slice(9, 12)));
    expect(answers[0]).not.toContain('for-alice');
  }
  expect(exchanges(), 'a refusal is remembered for a moment').toBe(1);
});
