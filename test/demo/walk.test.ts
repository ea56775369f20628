import { createServer } from 'node:http';
import { stripVTControlCharacters } from 'node:util';

import { afterEach, describe, expect, it, test } from 'vitest';

import { listen, type Running } from '../../demo/listen.ts';
import { busyPorts } from '../../demo/stack.ts';
import { runWalk } from '../../demo/walk.ts';
import { startDemoWorld } from '../worlds/demo.ts';

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

describe('the walk', () => {
  it('R-347: passes every step with the committed configuration', async () => {
    const lines: string[] = [];
    const world = await startDemoWorld({ authorizationServer: { highPrivilegeTtl: 10 } });
    open.push(world);
    expect(await runWalk({ gatewayUrl: world.mcpUrl.origin, print: (line) => lines.push(line) })).toBe(true);
    expect(lines.filter((line) => line.includes('FAIL'))).toEqual([]);
    expect(lines.at(-1)).toBe('All 44 steps passed.');
  });

  it('fails where a server answers otherwise, prints both values, and continues with the next stage', async () => {
    const stranger = await standIn({ status: 403 });
    const lines: string[] = [];
    expect(await runWalk({ gatewayUrl: stranger.url, print: (line) => lines.push(line) })).toBe(false);
    const text = stripVTControlCharacters(lines.join('\n'));
    expect(text).toMatch(/FAIL.* +No token/);
    expect(text).toMatch(/FAIL.* +API tokens/);
    expect(lines.at(-1)).toBe('3 failed, 0 passed.');
  });

  it('needs a gateway', async () => {
    await expect(runWalk({ gatewayUrl: 'http://127.0.0.1:1' })).rejects.toThrow(
      'No server answers at http://127.0.0.1:1',
    );
  });
});

/** Serves the demo's metadata and refuses everything else with one status. */
async function standIn({ status }: { status: number }): Promise<Running> {
  const server = createServer((request, response) => {
    const known = request.url === '/.well-known/oauth-protected-resource/mcp';
    response.writeHead(known ? 200 : status).end('{"authorization_servers":["http://127.0.0.1:1"]}');
  });
  const running = await listen(server, 0);
  open.push(running);
  return running;
}

test('busyPorts names a busy port, the server that needs it and the remedy', async () => {
  const holder = await standIn({ status: 404 });
  const port = Number(new URL(holder.url).port);
  const [line, ...more] = await busyPorts([
    { port, owner: 'gateway' },
    { port: 0, owner: 'free port' },
  ]);
  expect(line).toContain(`Port ${port} is busy, and the demo's gateway needs it`);
  expect(line).toContain(`lsof -i tcp:${port}`);
  expect(more).toEqual([]);
});
