import { expect, test } from 'vitest';
import { folderWith } from '../serve/config/folder.ts';
import { hasTerminal, startOnTerminal } from '../serve/terminal.ts';

const yaml = `
public_url: https://tools.example
listen: 127.0.0.1:0
admin: 127.0.0.1:0
log: { file: decisions.jsonl }
authorization_servers: { main: { issuer: http://127.0.0.1:9, jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, policy: a, resource: { scopes_supported: [read] }, upstream: { url: "http://127.0.0.1:9" } }
  - { name: api-of-old, path: /api/v1, audience: api, upstream: { url: "http://127.0.0.1:9" } }
  - { name: site, path: /, public: true, upstream: { url: "http://127.0.0.1:9" } }
`;
const files = { 'policies/a.yaml': '{}' };

test.runIf(hasTerminal)('R-225: serve prints on a terminal what it serves', async () => {
  const folder = await folderWith({ yaml, files });
  const gateway = startOnTerminal(['serve'], folder);
  await gateway.says(/ decisions .*\n/);
  gateway.interrupt();
  expect(await gateway.ended).toBe(0);
  const lines = gateway
    .text()
    .split('\n')
    .filter((line) => line.startsWith('  '));
  expect(lines.map((line) => line.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST').replace(folder, 'FOLDER'))).toEqual([
    '  listens on   http://HOST',
    '  route        tools       https://tools.example/mcp     policy a',
    '  route        api-of-old  https://tools.example/api/v1  any valid token',
    '  route        site        https://tools.example/        public',
    '  metadata     https://tools.example/.well-known/oauth-protected-resource/mcp',
    '  console      http://HOST/',
    '  metrics      http://HOST/metrics',
    '  decisions    stdout, FOLDER/decisions.jsonl',
  ]);
});
