/** The memory of the records of the front door is as docs/front-door.md states it. */
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/front-door/memory-store.ts';
import { digestOf } from '../../src/core/lib/digest.ts';
import { saveDevice } from '../../src/front-door/devices.ts';
import { limitsOf } from '../../src/front-door/store.ts';

const KiB = 1024;
const MAX_OF_COUNT = 1.8 * KiB;

test('a record of nearly a kibibyte takes at most 1.8 KiB, with its owner and its list', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = (): number => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const store = createMemoryStore(Date.now);
  const before = used();
  for (let index = 0; index < 8_000; index += 1) {
    const id = `${index}`.padStart(43, 'i');
    const value = { text: `${index}`.padStart(1_000, 'x') };
    const expiresAt = Date.now() + 3_600_000;
    await store.set({ kind: 'AccessToken', id, value, expiresAt, owner: `${index}`.padStart(43, 'o') });
    await store.addMember(`AccessToken ${id}`, id, expiresAt, 1_000);
  }
  expect((used() - before) / 8_000).toBeLessThan(MAX_OF_COUNT);
  expect(await store.get('AccessToken', '7999'.padStart(43, 'i'))).toBeDefined();
});

test('all kinds at their bounds take less than half of the memory limit of the Helm chart', async () => {
  const values = await readFile(new URL('../../deploy/helm/sallyport/values.yaml', import.meta.url), 'utf8');
  const limitMiB = Number(/limits: \{ memory: ([0-9]+)Mi \}/.exec(values)?.[1]);
  const kinds =
    'DeviceCode UserCode Interaction SignIn Visit Client Session SessionUid AuthorizationCode AccessToken RefreshToken UsedRefreshToken Grant';
  const counts = `${kinds} ClientCredentials Person`.split(' ').map((kind) => limitsOf(kind).most);
  const boundMiB = (counts.reduce((sum, most) => sum + most) * MAX_OF_COUNT) / KiB / KiB;
  expect(boundMiB).toBeLessThan(limitMiB / 2);
});

test('what is full of used assertions answers 503, and forgets none', async () => {
  const store = createMemoryStore(Date.now);
  const end = Date.now() + 3_600_000;
  for (let index = 0; index < 50_000; index += 1) await store.firstSeen(`jti ${index}`, end, 'one');
  await expect(store.firstSeen('one more', end, 'one')).rejects.toMatchObject({ status: 503 });
  expect(await store.firstSeen('jti 0', end, 'one')).toBe(false);
  expect(await store.firstSeen('one more', end, 'other')).toBe(true);
});

test('a device code that finds no room leaves no user code', async () => {
  const store = createMemoryStore(Date.now);
  const payload = { exp: Date.now() / 1000 + 600, userCode: 'BBBB', deviceInfo: { text: 'x'.repeat(20_000) } };
  await expect(saveDevice('id', payload as never, store)).rejects.toThrow('invalid_request');
  expect(await store.get('UserCode', digestOf('BBBB'))).toBeUndefined();
});
