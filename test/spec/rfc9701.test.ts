import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { startWorld, type Answer } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** An answer of the introspection endpoint. */
interface RawAnswer {
  readonly type?: string;
  readonly text: string;
}

const answers = new Map<string, RawAnswer>();
/** What the requests to it accepted. */
const accepted: (string | undefined)[] = [];

const world = startBeforeAll(() =>
  startWorld({
    server: 'jwt: { algorithms: [RS256] }, introspection: { client_id: gateway, client_secret: s, response: jwt }',
    routes: [
      'name: phantom, path: /, audience: a, tokens: [opaque], upstream: { url: "UPSTREAM", token: phantom, identity: { x-auth-subject: sub } }',
      'name: api, path: /api, audience: a, upstream: { url: "UPSTREAM" }',
    ],
  }),
);
beforeAll(() => {
  world.issuer.answerAt('/introspect', (request, response, body) => {
    accepted.push(request.headers.accept);
    const answer = answers.get(new URLSearchParams(body).get('token') ?? '') ?? { text: '{"active":false}' };
    response.writeHead(200, { 'content-type': answer.type ?? 'application/json' }).end(answer.text);
  });
});

/** RFC 9701 §5: a JWT about `claims`, for the client `gateway`. `outer` goes beside them. */
async function statement(claims: object, outer: Record<string, unknown> = {}): Promise<RawAnswer> {
  const payload = { sub: undefined, exp: undefined, aud: 'gateway', token_introspection: claims, ...outer };
  const text = await world.issuer.sign(payload, { header: { typ: 'token-introspection+jwt' } });
  return { type: 'application/token-introspection+jwt; charset=utf-8', text };
}

const seconds = (): number => Math.floor(Date.now() / 1000);
const good = (otherwise: object = {}): Record<string, unknown> => ({
  active: true,
  iss: world.issuer.url,
  aud: 'a',
  sub: 'alice',
  exp: seconds() + 300,
  ...otherwise,
});

/** What a client sees who comes with a token that introspection answers so. */
async function callWith(answer: RawAnswer | Promise<RawAnswer>, path = '/'): Promise<Answer> {
  const token = randomUUID();
  answers.set(token, await answer);
  return world.send(path, { token });
}

async function statusOf(answer: RawAnswer | Promise<RawAnswer>, path?: string): Promise<number> {
  return (await callWith(answer, path)).status;
}

const sentUpstream = () => world.upstream.seen.at(-1)?.headers;

test('R-54, RFC 9701 §4: asks for a JWT in Accept', async () => {
  await callWith(statement(good()));
  expect(accepted.at(-1)).toMatch(/^application\/token-introspection\+jwt(?:,|$)/);
});

describe('the answer', () => {
  test('R-55, RFC 9701 §5: reads token_introspection of a fresh JWT of the server for this gateway', async () => {
    expect(await statusOf(statement(good()))).toBe(200);
    expect(sentUpstream()).toMatchObject({ 'x-auth-subject': 'alice' });
  });

  test('R-55, RFC 9701 §5: refuses a token that the JWT calls inactive', async () => {
    const { status, challenge } = await callWith(statement({ active: false }));
    expect([status, challenge]).toEqual([401, 'Bearer error="invalid_token"']);
  });

  // test/tokens/signed-answer-reader.test.ts has the table of answers.
  test('R-55, RFC 9701 §5: answers 503 for a signed answer for another resource server', async () => {
    expect(await statusOf(statement(good(), { aud: 'other' }))).toBe(503);
  });

  test('R-55, RFC 9701 §5: accepts no token from plain JSON where it asked for a JWT', async () => {
    expect(await statusOf({ text: JSON.stringify(good()) })).toBe(503);
    expect(await statusOf({ text: '{"active":false}' })).toBe(401);
  });
});

test('R-57, RFC 9701 §8.1: refuses a signed answer as an access token', async () => {
  const outer = { aud: ['gateway', 'a'], exp: seconds() + 300, sub: 'alice' };
  const { text } = await statement(good(), outer);
  expect(await world.send('/api', { token: text })).toMatchObject({ status: 401 });
  expect(await world.send('/', { token: text })).toMatchObject({ status: 401 });
});

describe('the upstream', () => {
  test('R-56, RFC 9701 §5: sends the signed answer upstream in place of the token of the client', async () => {
    const answer = await statement(good());
    expect(await statusOf(answer)).toBe(200);
    expect(sentUpstream()?.authorization).toBe(`Bearer ${answer.text}`);
  });

  test('R-56, R-167, RFC 9701 §5: sends it neither into the log nor to another route', async () => {
    const answer = await statement(good());
    expect(await statusOf(answer, '/api')).toBe(200);
    expect(sentUpstream()).not.toHaveProperty('authorization');
    expect(await statusOf(answer)).toBe(200);
    const log = JSON.stringify(await world.gateway.lines());
    expect(log).not.toContain(answer.text);
    expect(log).not.toContain(answer.text.split('.')[2]);
  });
});
