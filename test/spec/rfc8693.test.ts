import { afterAll, beforeEach, beforeAll, describe, expect, test } from 'vitest';
import { startWorld, type World } from './world.ts';

let world: World;
let answer: { status: number; body: unknown };
beforeAll(async () => {
  world = await startWorld({
    yaml: (issuer, upstream) => `
authorization_servers: { main: { issuer: "${issuer}", jwt: { algorithms: [RS256] } } }
routes:
  - name: tools
    path: /
    audience: a
    upstream:
      url: ${upstream}
      token: exchange
      exchange: { client_id: gateway, client_secret: secret, audience: b, resource: "https://b.example/x", scope: [read, write] }
`,
  });
  world.issuer.intercept = (request, response) => {
    if (request.url !== '/token') return false;
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
    return true;
  };
});
afterAll(() => world.close());

const granted = {
  access_token: 'new',
  issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  token_type: 'Bearer',
  expires_in: 100,
};
beforeEach(() => {
  answer = { status: 200, body: granted };
});

let callers = 0;
/** A token that nobody has exchanged yet. */
async function freshToken(claims: Record<string, unknown> = {}): Promise<string> {
  callers += 1;
  return world.issuer.sign({ aud: 'a', sub: `caller-${callers}`, ...claims });
}

function asked(): readonly { body: string; authorization: string | undefined }[] {
  return world.issuer.requests.filter(({ path }) => path === '/token');
}

test('RFC 8693 §2.1 — the request: the caller’s token as the subject, what it is for, our own credentials', async () => {
  const token = await freshToken();
  expect(await world.send('/', { token })).toMatchObject({ status: 200 });
  const { body, authorization } = asked().at(-1) ?? { body: '', authorization: '' };
  expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    audience: 'b',
    resource: 'https://b.example/x',
    scope: 'read write',
  });
  expect(authorization).toBe(`Basic ${Buffer.from('gateway:secret').toString('base64')}`);
});

test('RFC 8693 §2.2.1 — the upstream gets the issued token, and never the caller’s', async () => {
  const token = await freshToken();
  await world.send('/', { token });
  const seen = world.upstream.seen.at(-1);
  expect(seen?.headers.authorization).toBe('Bearer new');
  expect(JSON.stringify(seen)).not.toContain(token);
});

describe('an answer that is no bearer access token goes nowhere', () => {
  test.for([
    ['no access_token', { ...granted, access_token: undefined }],
    ['an access_token that would end the header', { ...granted, access_token: 'a\r\nx: y' }],
    ['an access_token that is a number', { ...granted, access_token: 1 }],
    ['token_type N_A', { ...granted, token_type: 'N_A' }],
    ['token_type DPoP', { ...granted, token_type: 'DPoP' }],
    ['no token_type', { ...granted, token_type: undefined }],
    ['another kind of token', { ...granted, issued_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }],
    ['expires_in of 0', { ...granted, expires_in: 0 }],
    ['expires_in that is a string', { ...granted, expires_in: '100' }],
    ['no object', 'new'],
  ])('RFC 8693 §2.2.1 — %s: 502', async ([, body]) => {
    answer = { status: 200, body };
    const before = world.upstream.seen.length;
    expect(await world.send('/', { token: await freshToken() })).toMatchObject({ status: 502, challenge: null });
    expect(world.upstream.seen.length).toBe(before);
  });
});

test.for([
  ['invalid_target', 400, 502, null],
  ['invalid_client', 401, 502, null],
  ['invalid_request', 400, 502, null],
  ['invalid_grant', 400, 401, 'Bearer error="invalid_token"'],
] as const)('RFC 8693 §2.2.2 — %s with %d: the client sees %d', async ([error, status, expected, challenge]) => {
  answer = { status, body: { error } };
  const before = world.upstream.seen.length;
  expect(await world.send('/', { token: await freshToken() })).toMatchObject({ status: expected, challenge });
  expect(world.upstream.seen.length).toBe(before);
});

test('RFC 8693 §2.2.2 — the server is away: 503', async () => {
  answer = { status: 503, body: {} };
  const { status, headers } = await world.send('/', { token: await freshToken() });
  expect([status, headers.get('retry-after')]).toEqual([503, '5']);
});

describe('how long an issued token is used', () => {
  test('RFC 8693 §2.2.1 — until shortly before expires_in, one request in flight for each subject token', async () => {
    const [token, before] = [await freshToken(), asked().length];
    await Promise.all([1, 2, 3, 4].map(() => world.send('/', { token })));
    expect(asked().length).toBe(before + 1);
    world.advance(89);
    await world.send('/', { token });
    expect(asked().length).toBe(before + 1);
    world.advance(2);
    await world.send('/', { token });
    expect(asked().length).toBe(before + 2);
  });

  test('RFC 8693 §2.2.1 — never for another caller', async () => {
    const before = asked().length;
    for (const token of [await freshToken(), await freshToken()]) await world.send('/', { token });
    expect(asked().length).toBe(before + 2);
  });

  test('RFC 8693 §2.2.1 — once where the server does not say how long', async () => {
    answer = { status: 200, body: { ...granted, expires_in: undefined } };
    const [token, before] = [await freshToken(), asked().length];
    for (const _ of [1, 2]) expect(await world.send('/', { token })).toMatchObject({ status: 200 });
    expect(asked().length).toBe(before + 2);
  });
});
