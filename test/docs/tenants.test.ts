import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { outcome } from '../commands/run.ts';
import { folderWith } from '../serve/config/folder.ts';
import { blocksIn } from './page.ts';

const page = await readFile(new URL('../../docs/tenants.md', import.meta.url), 'utf8');
const files = Object.fromEntries(
  blocksIn(page).flatMap(({ file, text }) => (file === undefined ? [] : [[file, text]])),
);

const yaml = `
public_url: http://127.0.0.1:8080
authorization_servers: { main: { issuer: https://as.example.com, jwt: { algorithms: [RS256] } } }
approvals: { authorization_servers: [main] }
routes:
  - { name: files, path: /mcp, protocol: mcp, policy: files, upstream: { url: http://mcp:1 } }
  - { name: api, path: /api, protocol: http, policy: api, audience: https://api.example.com, upstream: { url: http://api:1 } }
`;

test('the tests of the page pass, and prove that tenants are isolated', async () => {
  expect(Object.keys(files)).toHaveLength(4);
  const folder = await folderWith({ yaml, files: { ...files, 'gateway.yaml': yaml } });
  const { code, stdout, stderr } = await outcome(['test'], folder, {});
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
});

test('a property fails where one entry forgets the comparison', async () => {
  const search = 'arguments: { /tenant: { claim: tenant } }';
  const policies = { ...files, 'policies/files.yaml': (files['policies/files.yaml'] ?? '').replace(search, '{}') };
  expect(policies['policies/files.yaml']).not.toContain(search);
  const text = policies['policies/files.yaml']?.replace('search:\n    {}', 'search: {}') ?? '';
  const folder = await folderWith({ yaml, files: { ...policies, 'policies/files.yaml': text, 'gateway.yaml': yaml } });
  const { code, stdout } = await outcome(['test'], folder, {});
  expect(code).not.toBe(0);
  expect(stdout).toContain('no caller searches another tenant');
});
