import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { mcpHandler, startHttp } from '../../support/mcp-servers.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';
import { folderWith } from '../../serve/config/folder.ts';
import { outcome } from '../../commands/run.ts';

let description = 'Pays.\nAt once.';
const handle = mcpHandler(() => {
  const server = new McpServer({ name: 'x', version: '1' }, { instructions: 'Pay first.' });
  server.registerTool('pay', { description }, () => ({ content: [] }));
  server.registerPrompt('plan', {}, () => ({ messages: [] }));
  return server;
});
const upstream = startBeforeAll(() => startHttp(handle));

const yaml = (url: string) => `public_url: http://127.0.0.1:8080
authorization_servers: { main: { issuer: "http://127.0.0.1:9000", jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, tokens: [jwt], policy: tools, upstream: { url: "${url}/mcp" } }
`;

test('warns of a tool that calls: strict refuses, and fails for none', async () => {
  const server = (): McpServer => {
    const shown = new McpServer({ name: 'x', version: '1' });
    const inputSchema = z.object({ a: z.string().regex(/^(a+)+$/) });
    shown.registerTool('slow', { inputSchema }, () => ({ content: [] }));
    shown.registerTool('pay', {}, () => ({ content: [] }));
    return shown;
  };
  const { url } = await forThisTest(startHttp(mcpHandler(server)));
  const files = { 'policies/tools.yaml': 'lock: deny\ncalls: strict' };
  const folder = await folderWith({ yaml: yaml(url), files });
  for (const more of [[], ['--check']]) {
    const { code, stdout } = await outcome(['lock', ...more], folder);
    expect(code).toBe(0);
    expect(stdout.split('\n').filter((line) => line.startsWith('warn'))).toEqual([
      expect.stringContaining('tool slow: calls: strict refuses it: pattern '),
    ]);
  }
});

test('R-259: writes the definitions that a server shows, and --check says which of them differ', async () => {
  const files = { 'policies/tools.yaml': 'lock: deny' };
  const folder = await folderWith({ yaml: yaml(upstream.url), files });
  const file = 'policies/tools.lock.yaml';
  expect(await outcome(['check'], folder)).toMatchObject({ code: 1 });
  expect(await outcome(['lock', '--check'], folder)).toMatchObject({ code: 1 });

  expect(await outcome(['lock'], folder)).toEqual({
    code: 0,
    stdout: `ok   ${file}: instructions is new
ok   ${file}: prompt "plan" is new
ok   ${file}: tool "pay" is new
ok   ${file}: 1 tool, 1 prompt, instructions
`,
    stderr: '',
  });
  const first = await readFile(join(folder, file), 'utf8');
  expect(first).toContain(`${upstream.url}/mcp showed`);
  expect(first).toMatch(/\ninstructions:\n {2}description: Pay first\.\n {2}sha256: [0-9a-f]{64}\ntools:\n {2}pay:\n/);
  expect(first).toMatch(/ {4}description: Pays\.\n {4}sha256: [0-9a-f]{64}\n {4}members:\n {6}description: /);
  expect(await outcome(['check'], folder)).toMatchObject({ code: 0 });
  const good = { code: 0, stdout: `ok   ${file}: 1 tool, 1 prompt, instructions\n`, stderr: '' };
  expect(await outcome(['lock', '--check'], folder)).toEqual(good);

  description = 'Pays twice.';
  expect(await outcome(['lock', '--check'], folder)).toEqual({
    code: 1,
    stdout: `fail ${file}: tool "pay": description changed\n`,
    stderr: '',
  });
  expect(await readFile(join(folder, file), 'utf8')).toBe(first);
  expect((await outcome(['lock'], folder)).stdout).toMatch(/^ok {3}.*: tool "pay": description changed\nok {3}.*\n$/);
  expect(await outcome(['lock', '--check'], folder)).toEqual(good);

  // A lock that cannot be read is written anew.
  await writeFile(join(folder, file), 'tools: [');
  expect(await outcome(['lock'], folder)).toMatchObject({ code: 0 });
  await rm(join(folder, file));
});

test('a server that cannot be asked fails, and nothing is written', async () => {
  const files = { 'policies/tools.yaml': 'lock: report' };
  const folder = await folderWith({ yaml: yaml('http://127.0.0.1:1'), files });
  expect(await outcome(['lock'], folder)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^fail http:\/\/127\.0\.0\.1:1\/mcp cannot be reached \(.*\)\n$/),
  });
  await expect(readFile(join(folder, 'policies/tools.lock.yaml'))).rejects.toThrow('ENOENT');
});

test('without a policy that has lock there is nothing to do', async () => {
  const folder = await folderWith({ yaml: yaml('http://127.0.0.1:1'), files: { 'policies/tools.yaml': '{}' } });
  expect(await outcome(['lock'], folder)).toEqual({
    code: 1,
    stdout: '',
    stderr: 'gateway.yaml: no policy of a route has the key lock: add lock: report to one, then lock: deny\n',
  });
  expect(await outcome(['lock', '--config', 'none.yaml'], folder)).toMatchObject({ code: 1, stdout: '' });
});
