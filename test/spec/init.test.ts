import { expect, test } from 'vitest';
import { compilePolicy } from '../../src/policy/compile.ts';
import { toolsPolicy } from '../../src/cli/init/tools-policy.ts';
import { parse } from 'yaml';
import { outcome } from '../serve/process.ts';
import { startIssuer } from '../support/issuer.ts';
import { createServer } from 'node:http';
import { listen } from '../../demo/listen.ts';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';

test('R-226: the policy of init allows no tool that the server did not list, even for names like `*`', () => {
  const { policy } = toolsPolicy([
    { name: 'get', readOnly: true },
    { name: '*', readOnly: true },
    { name: 'x: {}\n  "*"', readOnly: true },
  ]);
  const compiled = compilePolicy('tools', parse(policy));
  expect(compiled.toolEntry('get')).toBe('get');
  expect(compiled.toolEntry('other')).toBeUndefined();
});

test('R-227, RFC 8414 §3.3: init refuses metadata that name another issuer, shows both, and writes nothing', async () => {
  const issuer = await startIssuer();
  const server = await listen(
    createServer((_, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ issuer: issuer.url }));
    }),
    0,
  );
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-init-'));
  try {
    const { code, stdout, stderr } = await outcome(['init', '--issuer', server.url], folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`names the issuer "${issuer.url}", not "${server.url}"`);
    expect(await readdir(folder)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
    await server.close();
    await issuer.close();
  }
});
