import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAuthorizationServer, type AuthorizationServerOptions } from '../../demo/authorization-server.ts';
import { startBackend } from '../../demo/backend.ts';
import { startMcpServer } from '../../demo/mcp-server.ts';
import { start } from '../../src/serve/start.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/model/config.ts';
import { freePort } from '../support/ports.ts';
import { keepConfig } from '../support/secrecy.ts';
import { createWrittenLog, type WrittenLog } from '../support/written-log.ts';

/** The demo with the committed `gateway.yaml` on free ports, under the URL that clients really use. */
export interface DemoWorld extends WrittenLog {
  readonly mcpUrl: URL;
  readonly issuer: string;
  /** The last parameter of every challenge of the MCP route. */
  readonly resourceMetadata: string;
  close(): Promise<void>;
}

/** Changes to the demo. */
export interface DemoWorldOptions {
  /** Another MCP server than the demo's, as an origin. */
  readonly mcpServer?: string;
  readonly authorizationServer?: Partial<AuthorizationServerOptions>;
  /** Edits the committed `gateway.yaml`. */
  readonly edit?: (gatewayYaml: string) => string;
  /** The policy of its tools; default: the committed one. */
  readonly toolsPolicy?: string;
}

/** Starts it. */
export async function startDemoWorld({
  mcpServer,
  authorizationServer = {},
  ...files
}: DemoWorldOptions = {}): Promise<DemoWorld> {
  // Clients compare URLs as strings, so the gateway's must be known before it listens.
  const gatewayUrl = `http://127.0.0.1:${await freePort()}`;
  const mcpUrl = new URL('/mcp', gatewayUrl);
  const server = await startAuthorizationServer({
    port: 0,
    mcpResource: mcpUrl.href,
    apiAudience: 'https://api.demo.example',
    ...authorizationServer,
  });
  const tools = mcpServer === undefined ? await startMcpServer({ port: 0, apiUrl: gatewayUrl }) : undefined;
  const backend = await startBackend({ port: 0 });
  const config = await load(files, {
    PUBLIC_URL: gatewayUrl,
    GATEWAY_LISTEN: new URL(gatewayUrl).host,
    GATEWAY_ADMIN: 'off',
    ISSUER: server.issuer,
    ISSUER_BACKCHANNEL: server.issuer,
    MCP_SERVER_URL: mcpServer ?? tools?.url,
    BACKEND_URL: backend.url,
  });
  const { output, ...log } = createWrittenLog();
  keepConfig(config);
  const gateway = await start(config, { output });
  return {
    ...log,
    mcpUrl,
    issuer: server.issuer,
    resourceMetadata: `resource_metadata="${gatewayUrl}/.well-known/oauth-protected-resource/mcp"`,
    async close() {
      await gateway.close(0);
      await Promise.all([server.close(), tools?.close(), backend.close()]);
    },
  };
}

/** Loads the committed `gateway.yaml` and policies, or what the options make of them. */
async function load(
  { edit = (text) => text, toolsPolicy }: Pick<DemoWorldOptions, 'edit' | 'toolsPolicy'>,
  env: NodeJS.ProcessEnv,
): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  try {
    await cp('policies', join(folder, 'policies'), { recursive: true });
    await writeFile(join(folder, 'gateway.yaml'), edit(await readFile('gateway.yaml', 'utf8')));
    if (toolsPolicy !== undefined) await writeFile(join(folder, 'policies/demo-tools.yaml'), toolsPolicy);
    return await loadConfig(join(folder, 'gateway.yaml'), env);
  } finally {
    await rm(folder, { recursive: true });
  }
}
