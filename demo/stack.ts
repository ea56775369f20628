import { startAuthorizationServer } from './authorization-server.ts';
import { startBackend } from './backend.ts';
import { startGatewayProcess, type GatewayProcess } from './gateway-process.ts';
import type { Running } from './listen.ts';
import { startMcpServer } from './mcp-server.ts';
import { PlainError } from './plain-error.ts';
import { busyPorts } from './ports.ts';

/** All servers of the demo, on loopback, at the default addresses of `gateway.yaml`. */
export interface Stack {
  readonly gateway: GatewayProcess;
  /** Stops all servers, the gateway first, so that it can drain. */
  close(): Promise<void>;
}

/** The URL of each server. */
export const urls = {
  gateway: 'http://127.0.0.1:8080',
  admin: 'http://127.0.0.1:9090',
  authorizationServer: 'http://127.0.0.1:9000',
  mcpServer: 'http://127.0.0.1:3001',
  backend: 'http://127.0.0.1:3002',
} as const;

const ports = [
  { port: 9000, owner: 'authorization server' },
  { port: 3001, owner: 'MCP server' },
  { port: 3002, owner: 'API' },
  { port: 8080, owner: 'gateway' },
  { port: 9090, owner: 'gateway (metrics and health)' },
];

/**
 * Starts the demo.
 *
 * @param highPrivilegeTtl of a token with a high-privilege scope, in seconds.
 * @throws {PlainError} if a port is busy or the gateway does not start. Servers that were started are stopped.
 */
export async function startStack(highPrivilegeTtl: number): Promise<Stack> {
  const busy = await busyPorts(ports);
  if (busy.length > 0) throw new PlainError(busy.join('\n'));

  const servers: Running[] = [];
  const closeServers = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.close())));
  try {
    servers.push(
      await startAuthorizationServer({
        port: 9000,
        mcpResource: `${urls.gateway}/mcp`,
        apiAudience: 'https://api.demo.example',
        highPrivilegeTtl,
      }),
      await startMcpServer({ port: 3001, apiUrl: urls.gateway }),
      await startBackend({ port: 3002 }),
    );
    const gateway = await startGatewayProcess(urls.admin);
    return {
      gateway,
      async close() {
        await gateway.close();
        await closeServers();
      },
    };
  } catch (error) {
    await closeServers();
    throw error;
  }
}
