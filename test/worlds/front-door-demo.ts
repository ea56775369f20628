import { PassThrough } from 'node:stream';
import { expect } from 'vitest';
import { startCompanyProvider } from '../../demo/company-provider.ts';
import { startMcpServer } from '../../demo/mcp-server.ts';
import { loadConfig } from '../../src/config/load.ts';
import { startFrontDoor } from '../../src/front-door/front-door.ts';
import { start } from '../../src/serve/start.ts';
import { freePort } from '../support/ports.ts';
import { observerInto } from './front-door.ts';

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
    FRONT_DOOR_ISSUER: issuer,
    FRONT_DOOR_LISTEN: new URL(issuer).host,
    FRONT_DOOR_BACKCHANNEL: issuer,
    COMPANY_ISSUER: company.issuer,
    COMPANY_BACKCHANNEL: company.issuer,
    MCP_SERVER_URL: mcpServer.url,
  });
  // Before the gateway, as `serve` does: a gateway that does not find it asks again a second later.
  const frontDoor = await startFrontDoor(config, {
    observer: observerInto([]),
    onRevoked: (digests) => gateway.endTokens(digests),
    log() {},
    onBug: (error) => expect.unreachable(String(error)),
  });
  const gateway = await start(config, { output: new PassThrough().resume() });
  return {
    gatewayUrl,
    companyUrl: company.issuer,
    async close() {
      await Promise.all([company.close(), mcpServer.close(), frontDoor.close(), gateway.close(0)]);
    },
  };
}
