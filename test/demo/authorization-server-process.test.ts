import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';

import { expect, test } from 'vitest';

function run(env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, ['demo/authorization-server.ts'], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

test('R-181: as a process, prints one line at the start, uses the issuer of the environment, and stops quickly at SIGTERM', async () => {
  const child = run({ PORT: '0', ISSUER: 'http://127.0.0.1:9000' });
  const [line] = await once(child.stdout!, 'data');
  const url = /^authorization server listens at (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(String(line))?.[1] ?? '';
  const response = await fetch(`${url}/.well-known/oauth-authorization-server`);
  expect(await response.json()).toMatchObject({ issuer: 'http://127.0.0.1:9000' });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('exits with 1 and one clear line if the port is busy', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const child = run({ PORT: String(port) });
  const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  other.close();
  expect(said).toBe(`authorization server: 127.0.0.1:${port} is in use; choose another port with PORT\n`);
  expect(code).toBe(1);
});
