import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyOf, fieldOf, post } from './requests.ts';
import { type AttackWorld, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { lastHead } from '../support/raw.ts';

/** What the upstream calls the one session that it ever begins. */
const theirs = 'upstream-session-1';

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    routes: [
      'name: other, path: /other, protocol: mcp, audience: "http://gateway.test/mcp", policy: tools, upstream: { url: "UPSTREAM/other" }',
    ],
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': theirs });
      response.end(JSON.stringify({ text: UPSTREAM_TEXT }));
    },
  });
});
afterAll(() => world.close());

const authorizationOf = async (claims: Record<string, unknown>): Promise<string> =>
  `Authorization: Bearer ${await world.token(claims)}`;
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}';

async function sessionOf(claims: Record<string, unknown>): Promise<string> {
  const { answers } = await world.withstand(post(await authorizationOf(claims), initialize), {
    statuses: [200],
    reached: ['POST /mcp'],
  });
  const session = fieldOf(answers[0], 'mcp-session-id') ?? '';
  expect(session).not.toBe(theirs);
  return session;
}

const uses: readonly (readonly [string, (authorization: string, session: string) => string | Buffer])[] = [
  ['a message', (authorization, session) => post(authorization, ping, `Mcp-Session-Id: ${session}`)],
  ['its stream', (authorization, session) => lastHead('GET /mcp', authorization, `Mcp-Session-Id: ${session}`)],
  ['its end', (authorization, session) => lastHead('DELETE /mcp', authorization, `Mcp-Session-Id: ${session}`)],
];

describe.each(uses)('%s of a session', (_what, use) => {
  test('answers 404 to another person', async () => {
    const session = await sessionOf({ sub: 'alice' });
    const bob = await authorizationOf({ sub: 'bob' });
    for (const shown of [session, theirs]) {
      await world.withstand(use(bob, shown), { statuses: [404], reasons: ['session.unknown'] });
    }
  });

  test('is allowed for its owner with another token', async () => {
    const session = await sessionOf({ sub: 'alice' });
    const { reached } = await world.withstand(use(await authorizationOf({ sub: 'alice', jti: 'new' }), session), {
      statuses: [200],
      reached: [expect.stringMatching(/^(?:POST|GET|DELETE) \/mcp$/) as string],
    });
    expect(reached[0]?.headers['mcp-session-id']).toBe(theirs);
  });

  test('answers 400 to two ids', async () => {
    const own = await sessionOf({ sub: 'bob' });
    const both = `${own}\r\nMcp-Session-Id: ${await sessionOf({ sub: 'alice' })}`;
    await world.withstand(use(await authorizationOf({ sub: 'bob' }), both), {
      statuses: [400],
      reasons: ['request.duplicate_header'],
    });
  });
});

test('answers 404 to a caller that its token does not name', async () => {
  const session = await sessionOf({ sub: 'alice' });
  const unidentified = await authorizationOf({ sub: undefined, client_id: undefined });
  const sent = post(unidentified, ping, `Mcp-Session-Id: ${session}`);
  await world.withstand(sent, { statuses: [404], reasons: ['session.unknown'] });
});

test('does not find a session of one route on another', async () => {
  const session = await sessionOf({ sub: 'alice' });
  const request = post(await authorizationOf({ sub: 'alice' }), ping, `Mcp-Session-Id: ${session}`);
  const elsewhere = request.toString('latin1').replace('POST /mcp', 'POST /other');
  const { answers } = await world.withstand(elsewhere, { statuses: [404], reasons: ['session.unknown'] });
  expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { data: { reason: 'session.unknown' } } });
});
