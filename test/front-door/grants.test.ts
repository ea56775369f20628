/** The tokens of one grant, as the storage of the front door lists them. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { AdapterFactory } from 'oidc-provider';
import { createAdapter } from '../../src/front-door/adapter.ts';
import { newTokenId } from '../../src/front-door/token-ids.ts';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import type { Store } from '../../src/front-door/store.ts';

const DAY = 86_400;
const tokenKey = 'a key';
let now: number;
let store: Store;
let revoked: (readonly string[])[];
let adapter: AdapterFactory;

beforeEach(() => {
  now = 1_800_000_000_000;
  revoked = [];
  store = createMemoryStore(() => now);
  const onRevoked = async (digests: readonly string[]): Promise<void> => void revoked.push(digests);
  adapter = createAdapter({ store, clock: () => now, registrationMs: DAY * 1000, tokenKey, onRevoked });
});

describe('R-281: the list of a grant', () => {
  test('has the access tokens that live, at most 1,000', async () => {
    const tokens = adapter('AccessToken');
    const one = (id: string) => tokens.upsert(id, { grantId: 'g' }, 60);
    for (let index = 0; index < 1_000; index += 1) await one(`token-${index}`);
    await expect(one('token-1000')).rejects.toMatchObject({ error: 'temporarily_unavailable' });
    expect(await tokens.find('token-1000')).toBeUndefined();
    now += 60_000;
    await one('token-1001');
    await tokens.revokeByGrantId('g');
    expect(revoked.map(({ length }) => length)).toEqual([1]);
  });
});

describe('the records of a person', () => {
  const tokenOf = (accountId: string, id: string, kind = 'AccessToken') =>
    adapter(kind).upsert(id, { accountId, grantId: `${accountId} ${Number(id) % 4}` }, 60);

  test('are bounded, whatever the number of clients, and leave the room of others', async () => {
    await tokenOf('joe', '0');
    for (let index = 0; index < 1_000; index += 1) await tokenOf('jane', `1000${index}`);
    await expect(tokenOf('jane', '5')).rejects.toMatchObject({ error: 'temporarily_unavailable', status: 503 });
    await tokenOf('joe', '6');
    expect([await adapter('AccessToken').find('0'), await adapter('AccessToken').find('6')]).toMatchObject([
      { accountId: 'joe' },
      { accountId: 'joe' },
    ]);
    expect(await adapter('AccessToken').find('10000')).toMatchObject({ accountId: 'jane' });
    now += 60_001;
    await tokenOf('jane', '5');
  });

  test('a full kind refuses a new person, and forgets no record that lives', async () => {
    const issue = (id: string, accountId: string) => adapter('AuthorizationCode').upsert(id, { accountId }, 60);
    for (let index = 0; index < 8_000; index += 1) await issue(`${index}`, `person-${index % 60}`);
    await expect(issue('new', 'new')).rejects.toMatchObject({ status: 503 });
    expect(await adapter('AuthorizationCode').find('0')).toMatchObject({ accountId: 'person-0' });
    await adapter('AuthorizationCode').destroy('1');
    await issue('new', 'new');
  });
});

describe('a code or a refresh token', () => {
  const idOf = (grantId: string): string => newTokenId({ grantId, expiration: 60 }, now, tokenKey);
  const refreshTokens = () => adapter('RefreshToken');

  test('that was used ends its grant, and a forged one does not', async () => {
    await adapter('AccessToken').upsert('access', { grantId: 'g' }, 60);
    const id = idOf('g');
    const [grant = '', expiry = '', random = '', mac = ''] = id.split('.');
    const forged = [
      [grant, 'zzzzzz', random, mac],
      [grant, expiry, 'A'.repeat(22), mac],
      [grant, expiry, random, 'A'.repeat(43)],
      [grant, expiry, 'A'.repeat(43)],
    ].map((parts) => parts.join('.'));
    await Promise.all(forged.map((each) => refreshTokens().find(each)));
    expect(await adapter('AccessToken').find('access')).toBeDefined();
    expect(revoked).toEqual([]);
    await refreshTokens().find(id);
    expect(await adapter('AccessToken').find('access')).toBeUndefined();
    expect(revoked).toHaveLength(1);
  });

  test('leaves no record once it was used: those of one person may be many', async () => {
    const issue = (id: string) => refreshTokens().upsert(id, { grantId: 'g', accountId: 'jane' }, 60);
    for (let index = 0; index < 1_000; index += 1) {
      const id = idOf('g');
      await issue(id);
      await refreshTokens().consume(id);
    }
    await expect(issue(idOf('g'))).resolves.toBeUndefined();
  });

  test('is not consumed where no room is left for the access token, so that it counts when the client tries again', async () => {
    const id = idOf('g');
    await refreshTokens().upsert(id, { grantId: 'g', accountId: 'jane' }, 3_600);
    for (let index = 0; index < 48_000; index += 1)
      await adapter('AccessToken').upsert(`${index}`, { accountId: `person-${index % 60}`, grantId: `${index}` }, 60);
    await expect(refreshTokens().consume(id)).rejects.toMatchObject({ error: 'temporarily_unavailable', status: 503 });
    expect(await refreshTokens().find(id)).toBeDefined();
    now += 60_000;
    await refreshTokens().consume(id);
    expect(await refreshTokens().find(id)).toBeUndefined();
  });
});

describe('a registration', () => {
  test('counts for its address until its first use', async () => {
    let address = '203.0.113.7';
    const onRevoked = async (): Promise<void> => {};
    const parts = { store, clock: () => now, registrationMs: 90 * DAY * 1000, tokenKey, onRevoked };
    const clients = createAdapter({ ...parts, network: () => address })('Client');
    const add = (id: string) => clients.upsert(id, { client_id: id }, undefined);
    for (let index = 0; index < 300; index += 1) await add(`client-${index}`);
    await expect(add('one more')).rejects.toMatchObject({ status: 503 });
    await clients.upsert('client-0', { client_id: 'client-0' }, 90 * DAY);
    await add('one more');
    await expect(add('another')).rejects.toMatchObject({ status: 503 });
    address = '2001:db8:1:2::/64';
    await add('another');
  });
});

test('tokens of one workload, of whatever subjects, leave room for those of others', async () => {
  const tokens = adapter('ClientCredentials');
  const issue = (id: string, clientId: string, sub: string) => tokens.upsert(id, { clientId, extra: { sub } }, 60);
  for (let index = 0; index < 1_000; index += 1) await issue(`${index}`, 'workload:github', 'job');
  // What a job is refused does not count for the others.
  for (let index = 0; index < 100; index += 1)
    await expect(issue(`refused ${index}`, 'workload:github', 'job')).rejects.toMatchObject({ status: 503 });
  for (let index = 1_000; index < 8_000; index += 1) await issue(`${index}`, 'workload:github', `job-${index % 100}`);
  await expect(issue('one more', 'workload:github', 'another job')).rejects.toMatchObject({ status: 503 });
  await issue('of another workload', 'workload:cluster', 'pod');
  await issue('of a client', 'report', 'report');
  now += 60_000;
  await issue('one more', 'workload:github', 'another job');
});

test('a record that grows needs room, and one of a sign-in under way has it', async () => {
  const grow = (kind: string, id: string, length: number) =>
    adapter(kind).upsert(id, { accountId: 'jane', jti: 'x'.repeat(length) }, 60);
  for (let index = 0; index < 100; index += 1) {
    await grow('Session', `session-${index}`, 500);
  }
  await expect(grow('Session', 'session-0', 1_500)).rejects.toMatchObject({ status: 503 });
  expect(await adapter('Session').find('session-0')).toMatchObject({ jti: 'x'.repeat(500) });
  await grow('Session', 'session-0', 600);
  const sizes = await Promise.all(
    Array.from({ length: 16_000 }, (_each, index) =>
      grow('Interaction', `i-${index}`, 600).then(
        () => 1,
        () => 0,
      ),
    ),
  );
  expect(sizes.filter((each) => each === 1)).toHaveLength(16_000);
  await expect(grow('Interaction', 'new', 600)).rejects.toMatchObject({ status: 503 });
  await grow('Interaction', 'i-0', 1_100);
});
