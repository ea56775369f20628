import { expect, test } from 'vitest';
import { warningsOf } from '../../src/config/warnings.ts';
import { tlsLine } from '../support/certificates.ts';
import { route, top } from './edits.ts';
import { base, edited, loaded } from './folder.ts';

const warnings = async (yaml: string): Promise<readonly string[]> => warningsOf(await loaded({ yaml }));

test('has no warning for a plain configuration', async () => {
  expect(await warnings(base)).toEqual([]);
});

test('warns of a public URL that needs a proxy while no proxy is listed', async () => {
  const https = edited(['public_url: http://127.0.0.1:8080', 'public_url: https://gateway.example']);
  expect(await warnings(https)).toEqual([
    'public_url is https and there is no tls: add the proxy that terminates TLS to trusted_proxies; without it, all its callers share one address in limits',
  ]);
  expect(await warnings(`${https}trusted_proxies: [10.0.0.1]\n`)).toEqual([]);
  expect(await warnings(`${https}${tlsLine()}`)).toEqual([]);
});

test.each([
  ['supported', '[read]', ['payments', 'admin']],
  ['supported', '[read, payments, admin]', []],
  ['policy', '[read]', []],
  ['none', '[read]', []],
])(
  'warns of scopes that first_challenge: %s with scopes_supported: %s puts out of reach',
  async (first, supported, missing) => {
    const resource = `resource: { scopes_supported: ${supported} }\n    first_challenge: ${first}\n    policy: p`;
    const yaml = edited(route(`protocol: mcp\n    ${resource}`));
    const policy = 'scope: read\ntools: { pay: { scope: payments }, drop: { scope: admin } }\n';
    const config = await loaded({ yaml, files: { 'policies/p.yaml': policy } });
    const remedy = 'add them, or some clients can never get them';
    const line = `first_challenge: supported of route api names scopes_supported, which lacks ${missing.join(' ')}: ${remedy}`;
    expect(warningsOf(config)).toEqual(missing.length === 0 ? [] : [line]);
  },
);

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
