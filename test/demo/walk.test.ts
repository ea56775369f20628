import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';

import { afterEach, describe, expect, it } from 'vitest';

import { startAuthorizationServer } from '../../demo/authorization-server.ts';
import { startBackend } from '../../demo/backend.ts';
import { listen, type Running } from '../../demo/listen.ts';
import { startMcpServer } from '../../demo/mcp-server.ts';
import { busyPorts } from '../../demo/ports.ts';
import { runWalk } from '../../demo/walk.ts';
import { start } from '../../src/serve/start.ts';
import { loadConfig } from '../../src/config/load.ts';
import { freePort } from '../support/ports.ts';
import { startFrontDoorDemo } from '../worlds/front-door-demo.ts';

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

/** The demo as `gateway.yaml` describes it, on ports of its own; returns the gateway's URL. */
async function startDemo(highPrivilegeTtl: number, configFile = 'gateway.yaml'): Promise<string> {
  const gatewayUrl = `http://127.0.0.1:${await freePort()}`;
  const authorizationServer = await startAuthorizationServer({
    port: 0,
    mcpResource: `${gatewayUrl}/mcp`,
    apiAudience: 'https://api.demo.example',
    highPrivilegeTtl,
  });
  const mcpServer = await startMcpServer({ port: 0, apiUrl: gatewayUrl });
  const backend = await startBackend({ port: 0 });
  const config = await loadConfig(configFile, {
    PUBLIC_URL: gatewayUrl,
    GATEWAY_LISTEN: new URL(gatewayUrl).host,
    GATEWAY_ADMIN: 'off',
    ISSUER: authorizationServer.issuer,
    ISSUER_BACKCHANNEL: authorizationServer.issuer,
    MCP_SERVER_URL: mcpServer.url,
    BACKEND_URL: backend.url,
  });
  const gateway = await start(config, { output: new PassThrough().resume() });
  open.push(authorizationServer, mcpServer, backend, { close: () => gateway.close(0) });
  return gatewayUrl;
}

describe('the walk', () => {
  it('passes every step with the front door', async () => {
    const lines: string[] = [];
    const demo = await startFrontDoorDemo();
    open.push(demo);
    const isPassed = await runWalk({ ...demo, print: (line) => lines.push(line) });
    expect(isPassed ? [] : lines).toEqual([]);
    expect(lines.at(-1)).toBe('All 18 steps passed.');
  });

  it('passes every step with the committed configuration', async () => {
    const lines: string[] = [];
    const gatewayUrl = await startDemo(3);
    expect(await runWalk({ gatewayUrl, print: (line) => lines.push(line) })).toBe(true);
    expect(lines.filter((line) => line.includes('FAIL'))).toEqual([]);
    expect(lines.at(-1)).toBe('All 35 steps passed.');
  });

  it('fails if a policy is weaker than the requirements', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-walk-'));
    await cp('gateway.yaml', join(folder, 'gateway.yaml'));
    await cp('policies', join(folder, 'policies'), { recursive: true });
    await writeFile(join(folder, 'policies/demo-high-worth.yaml'), 'scope: read\nclaims: { risk: { below: 100 } }\n');
    const lines: string[] = [];
    const gatewayUrl = await startDemo(1, join(folder, 'gateway.yaml'));
    expect(await runWalk({ gatewayUrl, print: (line) => lines.push(line) })).toBe(false);
    const text = stripVTControlCharacters(lines.join('\n'));
    expect(text).toMatch(/FAIL +API tokens +bob lets an AI agent use the MCP server/);
    await rm(folder, { recursive: true });
  });

  it('prints the expected and the actual value, and continues with the next stage', async () => {
    const stranger = await standIn({ status: 403 });
    const lines: string[] = [];
    expect(await runWalk({ gatewayUrl: stranger.url, print: (line) => lines.push(line) })).toBe(false);
    const text = stripVTControlCharacters(lines.join('\n'));
    expect(text).toMatch(/FAIL.* +No token/);
    expect(text).toMatch(/FAIL.* +API tokens/);
    expect(lines.at(-1)).toBe('2 failed, 0 passed.');
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

describe('busyPorts', () => {
  it('names a busy port, the server that needs it and the remedy', async () => {
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
});
