import { expect, test } from 'vitest';
import { warningsOf } from '../../src/config/warnings.ts';
import { top } from './edits.ts';
import { base, loaded } from './folder.ts';

const warnings = async (yaml: string): Promise<readonly string[]> => warningsOf(await loaded({ yaml }));

test('warns of nothing in a plain configuration', async () => {
  expect(await warnings(base)).toEqual([]);
});

test.each([
  ['trusted_proxies: [0.0.0.0/0]', 'trusted_proxies trusts every address: each client can choose its own address'],
  [
    'certificate_proxies: [10.0.0.0/8, "::/0"]',
    'certificate_proxies trusts every address: each client can claim any certificate',
  ],
  ['admin: { listen: "x:1", token: hunter-2 }', 'admin.token is short: use at least 16 random characters'],
])('warns of %s', async (line, warning) => {
  expect(await warnings(top(line))).toEqual([warning]);
});
