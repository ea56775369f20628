import { expect, test } from 'vitest';
import type { RotatingKeys } from '../../src/lib/rotating-keys.ts';
import type { Config } from '../../src/model/config.ts';
import { createKeySet } from '../../src/respond/key-set.ts';

const keys = { published: (now: number) => [{ kid: `of ${now}` }] } as unknown as RotatingKeys;
const plain = { upstream: {} };
const signing = { upstream: { signedIdentity: {} } };

test.each([
  ['no route', [], undefined],
  ['none of them', [plain], undefined],
  ['one of them', [plain, signing], '{"keys":[{"kid":"of 5"}]}'],
])('RFC 7517 §5: where %s signs identities', (_title, routes, wanted) => {
  const keySet = createKeySet({ routes } as unknown as Config, keys, () => 5);
  expect(keySet()?.toString()).toBe(wanted);
});
