import type { RequestListener } from 'node:http';
import { z } from 'zod';
import { expect, test } from 'vitest';
import { McpServer } from '@modelcontextprotocol/server';
import { lockFileText } from '../../../src/capabilities/lock/lock-file.ts';
import { examineLocks } from '../../../src/capabilities/lock/doctor.ts';
import type { Finding } from '../../../src/capabilities/finding.ts';
import { listDefinitions } from '../../../src/mcp/client/ask-server.ts';
import { loaded } from '../../serve/config/folder.ts';
import { mcpHandler, startHttp } from '../../support/mcp-servers.ts';
import { linesOf } from './found.ts';
import { forThisTest } from '../../support/start-before.ts';

async function serving(listener: RequestListener): Promise<string> {
  const server = await forThisTest(startHttp(listener));
  return `${server.url}/mcp`;
}

/** An MCP server with these tools, by their names and descriptions, which a test may replace. */
async function showing(tools: Record<string, string>): Promise<string> {
  const handle = mcpHandler(() => {
    const server = new McpServer({ name: 'x', version: '1' });
    for (const [name, description] of Object.entries(tools))
      server.registerTool(name, { description }, () => ({ content: [] }));
    return server;
  });
  return serving((request, response) => void handle(request, response));
}

/** The findings on a server with a policy and its lock. */
async function examined(url: string, policy: string, lock = '{}', ofUpstream = ''): Promise<readonly Finding[]> {
  const config = await loaded({
    yaml: `public_url: http://127.0.0.1:9
authorization_servers: { main: { issuer: "http://127.0.0.1:9", jwt: { algorithms: [RS256] } } }
routes:
  - { name: mcp, path: /mcp, protocol: mcp, tokens: [jwt], policy: tools, upstream: { url: "${url}"${ofUpstream} } }
`,
    files: { 'policies/tools.yaml': policy, 'policies/tools.lock.yaml': lock },
  });
  return examineLocks(config);
}

test('says that a server shows what was approved, and names what differs', async () => {
  const tools: Record<string, string> = { pay: 'Pays.', read: 'Reads.' };
  const url = await showing(tools);
  const lock = lockFileText('tools', url, await listDefinitions(url));
  const lines = (policy: string) => linesOf(examined(url, policy, lock));
  const differ = `${url} differs from tools.lock.yaml`;
  expect(await lines('lock: deny')).toEqual([`ok routes.mcp.policy.lock: ${url} shows what tools.lock.yaml approves`]);

  // What is gone is not refused.
  delete tools['read'];
  expect(await lines('lock: deny')).toEqual([`warn routes.mcp.policy.lock: ${differ}: tool "read" is gone`]);

  tools['pay'] = 'Pays mallory.';
  const found = `${differ}: tool "pay": description changed, tool "read" is gone`;
  expect(await lines('lock: deny')).toEqual([`fail routes.mcp.policy.lock: ${found}; the gateway refuses this`]);
  expect(await lines('lock: report')).toEqual([`warn routes.mcp.policy.lock: ${found}`]);
  expect(await examined(url, 'lock: deny', lock)).toMatchObject([
    { remedy: 'restore the server, or review the change and run `sallyport lock`' },
  ]);
});

test('names the first twenty differences', async () => {
  const url = await showing(Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`t${index}`, ''])));
  const [line] = await linesOf(examined(url, 'lock: report'));
  expect(line?.match(/is new/g)).toHaveLength(20);
  expect(line).toMatch(/ is new and 1 more$/);
});

test.each([
  ['', 'disable its own authorization, or set upstream.token or upstream.headers'],
  [', identity: { x-auth-subject: sub }', 'ask for a caller: sallyport lock --check --route mcp --token - < token.txt'],
])('says of a server that refuses strangers, with the upstream%s: %s', async (ofUpstream, remedy) => {
  const url = await serving((_, response) => void response.writeHead(401).end());
  const [finding] = await examined(url, 'lock: deny', '{}', ofUpstream);
  expect(finding).toMatchObject({
    status: 'warn',
    text: expect.stringMatching(/ answered 401.*, so that it is not compared with tools\.lock\.yaml$/),
    remedy,
  });
});

test('says nothing of a server that cannot be reached, does not serve its host, or has no lock', async () => {
  const elsewhere = await serving((_, response) => void response.writeHead(421).end());
  expect(await examined(elsewhere, 'lock: deny')).toEqual([]);
  expect(await examined('http://127.0.0.1:1/mcp', 'lock: deny')).toEqual([]);
  expect(await examined('http://127.0.0.1:1/mcp', '{}')).toEqual([]);
});

test('names the tools whose schemas `calls: strict` cannot use', async () => {
  const handle = mcpHandler(() => {
    const server = new McpServer({ name: 'x', version: '1' });
    const inputSchema = z.object({ a: z.string().regex(/^(a+)+$/) });
    server.registerTool('slow', { inputSchema }, () => ({ content: [] }));
    return server;
  });
  const url = await serving((request, response) => void handle(request, response));
  const lock = lockFileText('tools', url, await listDefinitions(url));
  const ok = `ok routes.mcp.policy.lock: ${url} shows what tools.lock.yaml approves`;
  expect(await linesOf(examined(url, 'lock: deny', lock))).toEqual([ok]);
  expect(await linesOf(examined(url, 'lock: deny\ncalls: strict', lock))).toEqual([
    ok,
    expect.stringMatching(/^warn .*: calls: strict refuses tool "slow": pattern /),
  ]);
});
