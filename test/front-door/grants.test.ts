/** The tokens of one grant, as the storage of the front door lists them. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { AdapterFactory } from 'oidc-provider';
import { createAdapter } from '../../src/front-door/adapter.ts';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import type { Store } from '../../src/front-door/store.ts';

const DAY = 86_400;
let now: number;
let store: Store;
let revoked: (readonly string[])[];
let adapter: AdapterFactory;

beforeEach(() => {
  now = 1_800_000_000_000;
  revoked = [];
  store = createMemoryStore(() => now);
  const onRevoked = async (digests: readonly string[]): Promise<void> => void revoked.push(digests);
  adapter = createAdapter({ store, clock: () => now, registrationMs: DAY * 1000, onRevoked });
});

describe('R-281: the list of a grant', () => {
  test('has the access tokens that live, at most 1,000', async () => {
    const tokens = adapter('AccessToken');
    const one = (id: string) => tokens.upsert(id, { grantId: 'g' }, 60);
    for (let index = 0; index < 1_000; index += 1) {
      // oxlint-disable-next-line no-await-in-loop: in their order
      await one(`token-${index}`);
    }
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
    for (let index = 0; index < 1_000; index += 1) {
      // oxlint-disable-next-line no-await-in-loop: in their order
      await tokenOf('jane', `1000${index}`);
    }
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
    for (let index = 0; index < 48_000; index += 1) {
      const [person, id] = [`person-${index % 60}`, `${index}`];
      // oxlint-disable-next-line no-await-in-loop: in their order
      await adapter('Grant').upsert(id, { accountId: person }, 60);
    }
    await expect(adapter('Grant').upsert('new', { accountId: 'new' }, 60)).rejects.toMatchObject({ status: 503 });
    expect(await adapter('Grant').find('0')).toMatchObject({ accountId: 'person-0' });
    await adapter('Grant').destroy('1');
    await adapter('Grant').upsert('new', { accountId: 'new' }, 60);
  });
});
