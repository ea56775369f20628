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
  test.each([
    ['another person', { sub: 'bob' }],
    ['a person of nearly the same name', { sub: 'alice ' }],
    ['a person of the same name in another case', { sub: 'ALICE' }],
    ['a client of the same name', { sub: undefined, client_id: 'alice' }],
    ['a caller without identity', { sub: undefined, client_id: undefined }],
  ])('answers 404 to %s', async (_who, claims) => {
    const session = await sessionOf({ sub: 'alice' });
    await world.withstand(use(await authorizationOf(claims), session), {
      statuses: [404],
      reasons: ['session.unknown'],
    });
  });

  test('is allowed for its owner with another token', async () => {
    const session = await sessionOf({ sub: 'alice' });
    const { reached } = await world.withstand(use(await authorizationOf({ sub: 'alice', jti: 'new' }), session), {
      statuses: [200],
      reached: [expect.stringMatching(/^(?:POST|GET|DELETE) \/mcp$/) as string],
    });
    expect(reached[0]?.headers['mcp-session-id']).toBe(theirs);
  });

  test('answers 404 to ids that are made up, guessed or put together', async () => {
    const [own, alices] = [await sessionOf({ sub: 'bob' }), await sessionOf({ sub: 'alice' })];
    const bob = await authorizationOf({ sub: 'bob' });
    const [ownId, ownProof] = [own.slice(0, own.lastIndexOf('.')), own.slice(own.lastIndexOf('.') + 1)];
    const made = [
      theirs,
      `${theirs}.`,
      `.${ownProof}`,
      ownProof,
      ownId,
      `${ownId}.${ownProof.slice(0, -1)}`,
      `${ownId}.${ownProof}A`,
      `${ownId}.${ownProof.toUpperCase()}`,
      `${ownId}x.${ownProof}`,
      `${own}, ${alices}`,
      'x'.repeat(4_000),
      '__proto__',
      alices,
    ];
    for (const session of made) {
      if (session === own) continue;
      await world.withstand(use(bob, session), { statuses: [404], reasons: ['session.unknown'] });
    }
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

test('does not find a session of one route on another', async () => {
  const session = await sessionOf({ sub: 'alice' });
  const request = post(await authorizationOf({ sub: 'alice' }), ping, `Mcp-Session-Id: ${session}`);
  const elsewhere = request.toString('latin1').replace('POST /mcp', 'POST /other');
  const { answers } = await world.withstand(elsewhere, { statuses: [404], reasons: ['session.unknown'] });
  expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { data: { reason: 'session.unknown' } } });
});
