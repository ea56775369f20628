import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(() =>
  startWorld({
    yaml: (issuer, upstream) => `
authorization_servers:
  main: { issuer: "${issuer}", introspection: { client_id: "gate way", client_secret: "a:b&c", cache: 1h } }
  lenient: { issuer: "${issuer}/l", backchannel: "${issuer}", introspection: { client_id: g, client_secret: s, client_auth: client_secret_post, endpoint: "${issuer}/introspect", cache: 0s, audience: optional } }
routes:
  - { name: api, path: /, audience: a, authorization_servers: [main], upstream: { url: "${upstream}" } }
  - { name: lenient, path: /lenient, audience: a, authorization_servers: [lenient], upstream: { url: "${upstream}" } }
`,
  }),
);

const now = (): number => Math.floor(Date.now() / 1000);
const good = (): Record<string, unknown> => ({ active: true, aud: 'a', sub: 'alice', exp: now() + 300 });

/** The status for a token that introspection explains so. */
async function statusFor(explanation: unknown, path = '/'): Promise<number> {
  const token = randomUUID();
  world.issuer.introspection.set(token, explanation);
  return (await world.send(path, { token })).status;
}

function asked(): readonly { body: string; authorization: string | undefined }[] {
  return world.issuer.requestsTo('/introspect');
}

describe('the request', () => {
  test('R-49, RFC 7662 §2.1: sends a POST form with the token and its credentials as HTTP Basic', async () => {
    await statusFor(good());
    const { body, authorization } = asked().at(-1) ?? { body: '', authorization: '' };
    const form = Object.fromEntries(new URLSearchParams(body));
    expect(form).toEqual({ token: form['token'], token_type_hint: 'access_token' });
    expect(form['token']).toMatch(/^[0-9a-f-]{36}$/);
    expect(authorization).toBe(`Basic ${Buffer.from('gate%20way:a%3Ab&c').toString('base64')}`);
  });

  test('R-49, RFC 7662 §2.1: sends its credentials in the body where configured', async () => {
    expect(await statusFor(good(), '/lenient')).toBe(200);
    const { body, authorization } = asked().at(-1) ?? { body: '', authorization: '' };
    expect(Object.fromEntries(new URLSearchParams(body))).toMatchObject({ client_id: 'g', client_secret: 's' });
    expect(authorization).toBeUndefined();
  });
});

describe('the answer', () => {
  test('R-50, RFC 7662 §2.2: accepts an active token for this route and this time', async () => {
    expect(await statusFor(good())).toBe(200);
  });

  // test/tokens/introspection.test.ts and introspection-answer.test.ts have the tables of answers.
  test.for([
    ['active is text', { active: 'true' }],
    ['exp has passed', { exp: 1 }],
    ['aud is another', { aud: 'b' }],
    ['aud is missing', { aud: undefined }],
  ])('R-50, RFC 7662 §2.2: refuses a token when %s', async ([, claims]) => {
    expect(await statusFor({ ...good(), ...(claims as object) })).toBe(401);
  });

  test('R-51, RFC 7662 §2.2: accepts a token without aud only where configured, and never one for another audience', async () => {
    const statuses = [undefined, 'a', 'b', []].map((aud) => statusFor({ ...good(), aud }, '/lenient'));
    expect(await Promise.all(statuses)).toEqual([200, 200, 401, 401]);
  });
});

test.for([
  [401, '{}'],
  [500, ''],
] as const)('R-52, RFC 7662 §2.3: answers 503 when introspection answers %d %s', async ([status, body]) => {
  world.issuer.answerAt('/introspect', (_request, response) => void response.writeHead(status).end(body));
  const answered = await statusFor(good());
  world.issuer.intercept = undefined;
  expect(answered).toBe(503);
});

test('R-155: a hundred parallel first requests cause one introspection, with a valid or invalid token', async () => {
  for (const [answer, status] of [
    [good(), 200],
    [{ active: false }, 401],
  ] as const) {
    const [token, before] = [randomUUID(), asked().length];
    world.issuer.introspection.set(token, answer);
    const answers = await Promise.all(Array.from({ length: 100 }, () => world.send('/', { token })));
    expect(new Set(answers.map((each) => each.status))).toEqual(new Set([status]));
    expect(asked().length).toBe(before + 1);
  }
});

test('R-53, RFC 7662 §4: reuses an answer, but not past exp', async () => {
  const token = randomUUID();
  world.issuer.introspection.set(token, { ...good(), exp: now() + 100 });
  const before = asked().length;
  for (const _ of [1, 2, 3]) expect(await world.send('/', { token })).toMatchObject({ status: 200 });
  expect(asked().length).toBe(before + 1);
  world.advance(106);
  expect(await world.send('/', { token })).toMatchObject({ status: 401 });
  expect(asked().length).toBe(before + 2);
});

test('R-53, RFC 7662 §4: reuses no answer with cache: 0s, so that a revoked token ends at once', async () => {
  const token = randomUUID();
  world.issuer.introspection.set(token, { active: true, aud: 'a' });
  expect(await world.send('/lenient', { token })).toMatchObject({ status: 200 });
  world.issuer.introspection.delete(token);
  expect(await world.send('/lenient', { token })).toMatchObject({ status: 401 });
});
