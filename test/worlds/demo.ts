import { openStore } from '../../src/capabilities/all.ts';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, expect } from 'vitest';
import { startAuthorizationServer, type AuthorizationServerOptions } from '../../demo/authorization-server.ts';
import { startBackend } from '../../demo/backend.ts';
import { startCompanyProvider } from '../../demo/company-provider.ts';
import { startMcpServer } from '../../demo/mcp-server.ts';
import { startFrontDoor } from '../../src/front-door/front-door.ts';
import { start } from '../../src/serve/start.ts';
import { loadConfig } from '../../src/serve/config/load.ts';
import type { Config } from '../../src/ports/config.ts';
import { freePort } from '../support/ports.ts';
import { keepConfig } from '../support/secrecy.ts';
import { createWrittenLog, type WrittenLog } from '../support/written-log.ts';
import { observerInto } from './front-door.ts';

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
  /** Policies in place of the committed ones, by name. */
  readonly policies?: Readonly<Record<string, string>>;
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
  const port = await freePort();
  const server = await startAuthorizationServer({
    port,
    mcpResource: mcpUrl.href,
    apiAudience: 'https://api.demo.example',
    events: {
      transmitter: `http://127.0.0.1:${port}`,
      endpoint: `${gatewayUrl}/events/demo`,
      audience: gatewayUrl,
    },
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
    TRANSMITTER: server.issuer,
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

/** Something that a test opens. */
interface Closable {
  close(): Promise<void>;
}

/**
 * Starts one for the tests of a block, and closes it after them, with everything that they `keep`. `tools` starts another MCP
 * server than the demo's.
 */
export function startDemoBeforeAll({
  tools,
  ...options
}: Omit<DemoWorldOptions, 'mcpServer'> & {
  readonly tools?: () => Promise<Closable & { readonly url: string }>;
} = {}): {
  readonly world: () => DemoWorld;
  readonly keep: <Kept extends Closable>(kept: Kept) => Kept;
} {
  let world: DemoWorld;
  const open: Closable[] = [];
  beforeAll(async () => {
    const server = await tools?.();
    world = await startDemoWorld({ ...options, ...(server !== undefined && { mcpServer: server.url }) });
    return async () => {
      await Promise.all(open.map((each) => each.close()));
      await world.close();
      await server?.close();
    };
  });
  return {
    world: () => world,
    keep(kept) {
      open.push(kept);
      return kept;
    },
  };
}

/** Loads the committed `gateway.yaml` and policies, or what the options make of them. */
async function load(
  { edit = (text) => text, policies = {} }: Pick<DemoWorldOptions, 'edit' | 'policies'>,
  env: NodeJS.ProcessEnv,
): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  await cp('policies', join(folder, 'policies'), { recursive: true });
  await writeFile(join(folder, 'gateway.yaml'), edit(await readFile('gateway.yaml', 'utf8')));
  for (const [name, text] of Object.entries(policies)) await writeFile(join(folder, `policies/${name}.yaml`), text);
  return await loadConfig(join(folder, 'gateway.yaml'), env);
}

/** The demo with the front door. */
export interface FrontDoorDemo {
  readonly gatewayUrl: string;
  readonly companyUrl: string;
  close(): Promise<void>;
}

/** The demo with the front door as its own configuration describes it, on free ports. */
export async function startFrontDoorDemo(): Promise<FrontDoorDemo> {
  const [gatewayUrl, issuer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const company = await startCompanyProvider({ port: 0, redirectUri: `${issuer}/callback/company` });
  const mcpServer = await startMcpServer({ port: 0, apiUrl: gatewayUrl });
  const config = await loadConfig('demo/front-door/gateway.yaml', {
    PUBLIC_URL: gatewayUrl,
    GATEWAY_LISTEN: new URL(gatewayUrl).host,
    GATEWAY_ADMIN: 'off',
    GATEWAY_BACKCHANNEL: gatewayUrl,
    FRONT_DOOR_ISSUER: issuer,
    FRONT_DOOR_LISTEN: new URL(issuer).host,
    FRONT_DOOR_BACKCHANNEL: issuer,
    COMPANY_ISSUER: company.issuer,
    COMPANY_BACKCHANNEL: company.issuer,
    MCP_SERVER_URL: mcpServer.url,
  });
  // Before the gateway, as `serve` does: a gateway that does not find it asks again a second later.
  const frontDoor = await startFrontDoor(config, {
    openStore,
    observer: observerInto([]),
    onRevoked: (digests) => gateway.endTokens(digests),
    log() {},
    onBug: (error) => expect.unreachable(String(error)),
  });
  const gateway = await start(config, { output: createWrittenLog().output });
  return {
    gatewayUrl,
    companyUrl: company.issuer,
    async close() {
      await Promise.all([company.close(), mcpServer.close(), frontDoor.close(), gateway.close(0)]);
    },
  };
}
