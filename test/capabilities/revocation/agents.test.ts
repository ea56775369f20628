/** Ending an agent: revocations of a client, of a client for a person and of an actor, and their withdrawal. */
import { describe, expect, test } from 'vitest';
import type { Principal } from '../../../src/core/model/principal.ts';
import { Keeper } from '../../../src/capabilities/revocation/keeper.ts';
import { type Revocation, revocationId, type RevokedTokens } from '../../../src/capabilities/revocation/revoked.ts';
import { isRevocation, RevocationIndex } from '../../../src/capabilities/revocation/revocation-index.ts';
import { RevocationStore } from '../../../src/capabilities/revocation/revocation-store.ts';
import { connectStore } from '../../../src/capabilities/shared-store/connection.ts';
import { createSealing } from '../../../src/capabilities/shared-store/sealing.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startUpstream } from '../../support/upstream.ts';
import { forThisTest } from '../../support/start-before.ts';

const now = 1_800_000_000;
const HOUR = 3_600_000;
const issuer = 'https://as.example';
const frontDoor = 'https://door.example';

type Token = Pick<Principal, 'issuer' | 'subject' | 'clientId' | 'issuedAt' | 'claims' | 'actors'>;
const token = (about: Partial<Token>): Token => ({
  issuer,
  subject: 'alice',
  clientId: 'app',
  issuedAt: now,
  claims: {},
  actors: undefined,
  ...about,
});
const actedFor = (...actors: readonly (readonly [issuer: string, subject: string])[]): Partial<Token> => ({
  actors: actors.map(([of, subject]) => ({ issuer: of, subject })),
});

function keeping(clock = { ms: now * 1000 }) {
  const index = new RevocationIndex(() => clock.ms);
  const room = { entries: 100, bytes: Infinity };
  const parts = { clock: () => clock.ms, index, keepMs: HOUR, room, frontDoorIssuer: frontDoor };
  const keeper = new Keeper({ ...parts, onNews() {}, onFull() {} });
  return { clock, index, keeper, revoke: (tokens: RevokedTokens, at = now) => revoked(keeper, tokens, at) };
}

async function revoked(keeper: Keeper, tokens: RevokedTokens, at: number): Promise<Revocation> {
  let kept: readonly Revocation[] = [];
  await keeper.keep({ tokens: [tokens], at, id: undefined }, (revocations) => (kept = revocations));
  return kept[0] as Revocation;
}

test.for<[RevokedTokens, Partial<Token>, boolean]>([
  [{ issuer, client: 'app' }, {}, true],
  [{ issuer, client: 'app' }, { subject: undefined }, true],
  [{ issuer, client: 'app' }, { clientId: 'other' }, false],
  [{ issuer, client: 'app' }, { issuer: 'https://other.example' }, false],
  [{ issuer, client: 'app' }, { issuedAt: now + 1 }, false],
  [{ issuer, client: 'app', subject: 'alice' }, {}, true],
  [{ issuer, client: 'app', subject: 'alice' }, { subject: 'bob' }, false],
  [{ issuer, client: 'app', subject: 'alice' }, { clientId: 'other' }, false],
  // More than was asked, never less.
  [{ issuer, client: 'app', subject: 'alice' }, { clientId: undefined }, true],
  [{ issuer, actor: 'agent' }, actedFor([issuer, 'agent']), true],
  [{ issuer, actor: 'agent' }, actedFor([issuer, 'other'], [issuer, 'agent']), true],
  [{ issuer, actor: 'agent' }, actedFor(['https://other.example', 'agent']), false],
  [{ issuer: 'https://other.example', actor: 'agent' }, actedFor(['https://other.example', 'agent']), true],
  [{ issuer, actor: 'agent' }, { subject: 'agent', clientId: 'agent' }, false],
  [{ issuer, actor: 'agent' }, { ...actedFor([issuer, 'agent']), issuedAt: now + 1 }, false],
])('the revocation of %j refuses a token with %j: %s', async ([tokens, about, isRefused]) => {
  const { index, revoke } = keeping();
  await revoke(tokens);
  expect(index.revokes(token(about))).toBe(isRefused);
});

describe('R-359: a lifted revocation', () => {
  test('refuses nothing any more, and another one does', async () => {
    const { index, keeper, revoke } = keeping();
    await revoke({ issuer, client: 'other' });
    await keeper.lift(await revoke({ issuer, client: 'app' }));
    expect(index.revokes(token({}))).toBe(false);
    expect(index.revokes(token({ clientId: 'other' }))).toBe(true);
  });

  test('of several members leaves the parts of others', async () => {
    const { index, keeper, revoke } = keeping();
    await revoke({ issuer, client: 'app', subject: 'bob' });
    await keeper.lift(await revoke({ issuer, client: 'app', subject: 'alice' }));
    expect(index.revokes(token({}))).toBe(false);
    expect(index.revokes(token({ subject: 'bob' }))).toBe(true);
    expect(index.revokes(token({ subject: 'bob', clientId: undefined }))).toBe(true);
    expect(index.revokes(token({ clientId: undefined }))).toBe(false);
  });

  test('does not take a later one with it, of the same second either', async () => {
    const { index, keeper, revoke } = keeping();
    const first = await revoke({ issuer, client: 'app' });
    await keeper.lift(first);
    const second = await revoke({ issuer, client: 'app' });
    expect(index.revokes(token({}))).toBe(true);
    await keeper.lift(first);
    expect(index.revokes(token({}))).toBe(true);
    expect(revocationId(second)).not.toBe(revocationId(first));
  });

  test('stays lifted where another replica tells of it again', async () => {
    const { index, keeper, revoke } = keeping();
    const revocation = await revoke({ issuer, client: 'app' });
    await keeper.lift(revocation);
    expect(index.add([revocation])).toBe(0);
    expect(index.revokes(token({}))).toBe(false);
  });

  test.for(['[', '{}', '[1,2,false,5,null,null,null,null,null,null,null]', '[1]'])('is no %s', (lifted) => {
    expect(isRevocation({ issuer, at: now, arrivedAt: now, lifted })).toBe(false);
  });
});

describe('a client of the front door', () => {
  const ended = { issuer: frontDoor, client: 'agent' };

  test('is blocked until the lift, whatever `keep` is; with a subject it is not', async () => {
    const { clock, index, keeper, revoke } = keeping();
    const block = await revoke(ended);
    await revoke({ issuer: frontDoor, client: 'other', subject: 'alice' });
    await revoke({ issuer, client: 'agent' });
    clock.ms += 1000 * HOUR;
    expect(index.size).toBe(1);
    expect(index.blocks(frontDoor, 'agent')).toBe(true);
    expect([index.blocks(frontDoor, 'other'), index.blocks(issuer, 'agent')]).toEqual([false, false]);
    await keeper.lift(block);
    expect(index.blocks(frontDoor, 'agent')).toBe(false);
  });

  test('gets no grant back with the lift', async () => {
    const { clock, index, keeper, revoke } = keeping();
    const block = await revoke(ended);
    clock.ms += 60_000;
    await keeper.lift(block);
    clock.ms += 1000 * HOUR;
    const at = (seconds: number): boolean => index.hasEnded(frontDoor, 'agent', now + seconds);
    expect([at(-100), at(60), at(61)]).toEqual([true, true, false]);
    expect(index.hasEnded(frontDoor, 'other', now)).toBe(false);
  });
});

/** Of one agent at each of two replicas: 1,000 in all take a machine some seconds to open. */
const streamsOfEach = process.env['LOAD_TESTS'] === undefined ? 20 : 500;

describe.skipIf(!hasRedis)('on replicas', () => {
  const redis = startBeforeAll(startRedis);

  async function replica() {
    const { index, keeper, revoke } = keeping();
    const connection = connectStore(redis.url, { observer: { storeUp() {}, storeRequest() {} }, log() {} });
    await expect.poll(() => connection.state().state).toBe('available');
    const store = new RevocationStore({
      connection,
      sealing: createSealing('k3y-of-at-least-thirty-two-characters'),
      clock: () => now * 1000,
      keepMs: () => HOUR,
      onNews: (revocations, dropped) => keeper.take({ revocations, dropped }),
      onComplete() {},
      isLifted: (revocation) => index.isLifted(revocation),
      known: () => index.all(),
      onCorrupt() {},
    });
    keeper.use(store);
    const close = async (): Promise<void> => {
      await keeper.close();
      await connection.close();
    };
    return forThisTest(Promise.resolve({ index, keeper, revoke, store, close }));
  }

  test('a lift reaches the other, and one that comes later, and a revocation of the same time after it holds', async () => {
    const [one, other] = [await replica(), await replica()];
    const first = await one.revoke({ issuer: frontDoor, client: 'agent' });
    await other.store.follow();
    expect(other.index.blocks(frontDoor, 'agent')).toBe(true);
    await other.keeper.lift(first);
    await one.store.follow();
    await one.store.compare();
    const late = await replica();
    await late.store.follow();
    expect([one, late].map(({ index }) => index.blocks(frontDoor, 'agent'))).toEqual([false, false]);
    await one.revoke({ issuer: frontDoor, client: 'agent' });
    await other.store.follow();
    expect(other.index.blocks(frontDoor, 'agent')).toBe(true);
    expect(await redis.client.pTTL((await redis.client.keys('*revocations*'))[0] ?? '')).toBeGreaterThan(2 * HOUR);
  });

  test('R-359: the streams of an agent end on both within a second', async () => {
    const as = await forThisTest(startIssuer());
    const upstream = await forThisTest(
      startUpstream((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      }),
    );
    const yaml = `
session_key: k3y-of-at-least-thirty-two-characters
shared: ${redis.url}
revocation: {}
authorization_servers:
  main: { issuer: ${as.url}, jwt: { algorithms: [RS256] } }
routes:
  - { name: api, path: /api, audience: r, upstream: { url: "${upstream.url}" } }
`;
    const adminToken = 'Kx7-0123-of-the-operators';
    const admin = `{ listen: '127.0.0.1:0', token: ${adminToken} }`;
    const start = (): Promise<TestGateway> => forThisTest(startTestGateway({ yaml, admin }));
    const both = [await start(), await start()] as const;
    const open = async (gateway: TestGateway, clientId: string): Promise<{ over: Promise<unknown> }> => {
      const authorization = `Bearer ${await as.sign({ sub: 'alice', client_id: clientId, aud: 'r' })}`;
      const response = await fetch(`${gateway.url}/api`, { headers: { authorization } });
      expect(response.status).toBe(200);
      return { over: response.text().catch(() => 'broken') };
    };
    const streams = await Promise.all(
      both.flatMap((gateway) => Array.from({ length: streamsOfEach }, () => open(gateway, 'agent'))),
    );
    const other = await open(both[1], 'other');
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ client: 'agent', issuer: as.url });
    const answer = await fetch(`${both[0].adminUrl}/revocations`, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    await Promise.all(streams.map(({ over }) => over));
    expect(await Promise.race([other.over, Promise.resolve('open')])).toBe('open');
  });
});
