/** The tokens of one grant, as the storage of the front door lists them. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { AdapterFactory } from 'oidc-provider';
import { createAdapter, digestOf } from '../../src/front-door/adapter.ts';
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
  test('loses a refresh token with its use, however often a client refreshes', async () => {
    const tokens = adapter('RefreshToken');
    for (let index = 0; index < 1_500; index += 1) {
      // oxlint-disable-next-line no-await-in-loop: in their order
      await tokens.upsert(`token-${index}`, { grantId: 'g', exp: now / 1000 + DAY, clientId: 'c' }, DAY);
      // oxlint-disable-next-line no-await-in-loop
      await tokens.consume(`token-${index}`);
    }
    await expect(store.takeMembers(`RefreshToken ${digestOf('g')}`)).resolves.toEqual([]);
  });

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
