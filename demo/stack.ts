import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { startAuthorizationServer } from './authorization-server.ts';
import { startBackend } from './backend.ts';
import { startCompanyProvider } from './company-provider.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { listen, type Running } from './listen.ts';
import { startMcpServer } from './mcp-server.ts';
import { PlainError } from './plain-error.ts';

/** All servers of the demo, on loopback, at the default addresses of the gateway's configuration. */
export interface Stack {
  readonly gateway: GatewayProcess;
  /** What to show of each address: a name, and the address. */
  readonly addresses: readonly (readonly [name: string, where: string])[];
  /** Stops all servers, the gateway first, so that it can drain. */
  close(): Promise<void>;
}

/** The URL of each server. */
export const urls = {
  gateway: 'http://127.0.0.1:8080',
  admin: 'http://127.0.0.1:9090',
  authorizationServer: 'http://127.0.0.1:9000',
  frontDoor: 'http://127.0.0.1:8090',
  company: 'http://127.0.0.1:9100',
  mcpServer: 'http://127.0.0.1:3001',
  backend: 'http://127.0.0.1:3002',
} as const;

const common: readonly Port[] = [
  { port: 3001, owner: 'MCP server' },
  { port: 8080, owner: 'gateway' },
  { port: 9090, owner: 'gateway (metrics and health)' },
];

/**
 * Starts the demo.
 *
 * @param highPrivilegeTtl of a token with a high-privilege scope, in seconds.
 * @throws {PlainError} if a port is busy or the gateway does not start. Servers that were started are stopped.
 */
export function startStack(highPrivilegeTtl: number): Promise<Stack> {
  return startAll({
    configFile: 'gateway.yaml',
    ports: [{ port: 9000, owner: 'authorization server' }, { port: 3002, owner: 'API' }, ...common],
    starts: [
      () =>
        startAuthorizationServer({
          port: 9000,
          mcpResource: `${urls.gateway}/mcp`,
          apiAudience: 'https://api.demo.example',
          highPrivilegeTtl,
          events: {
            transmitter: urls.authorizationServer,
            endpoint: `${urls.gateway}/events/demo`,
            audience: urls.gateway,
          },
        }),
      startTools,
      () => startBackend({ port: 3002 }),
    ],
    addresses: [
      ['  demo API behind it', `${urls.gateway}/demo/data, ${urls.gateway}/demo/highworthdata`],
      ['authorization server', urls.authorizationServer],
      ['demo API, unprotected', urls.backend],
    ],
  });
}

/**
 * Starts the demo with the front door, and with the company's provider behind it.
 *
 * @throws {PlainError} as {@link startStack}.
 */
export function startFrontDoorStack(): Promise<Stack> {
  return startAll({
    configFile: 'demo/front-door/gateway.yaml',
    ports: [{ port: 9100, owner: 'company provider' }, { port: 8090, owner: 'front door' }, ...common],
    starts: [() => startCompanyProvider({ port: 9100, redirectUri: `${urls.frontDoor}/callback/company` }), startTools],
    addresses: [
      ['front door', urls.frontDoor],
      ['company provider', urls.company],
    ],
  });
}

function startTools(): Promise<Running> {
  return startMcpServer({ port: 3001, apiUrl: urls.gateway });
}

/** The parts of one demo. */
interface Parts extends Pick<Stack, 'addresses'> {
  readonly configFile: string;
  readonly ports: readonly Port[];
  readonly starts: readonly (() => Promise<Running>)[];
}

async function startAll({ configFile, ports, starts, addresses }: Parts): Promise<Stack> {
  const busy = await busyPorts(ports);
  if (busy.length > 0) throw new PlainError(busy.join('\n'));

  // The commands of operators need one, on loopback too; the console does not, there.
  const adminToken = process.env['SALLYPORT_ADMIN_TOKEN'] ?? randomBytes(16).toString('base64url');
  process.env['SALLYPORT_ADMIN_TOKEN'] = adminToken;
  const servers: Running[] = [];
  const closeServers = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.close())));
  try {
    for (const start of starts) servers.push(await start());
    const gateway = await startGatewayProcess(configFile, fileURLToPath(new URL('../gateway.log', import.meta.url)));
    return {
      gateway,
      addresses: [
        ['gateway', urls.gateway],
        ['  MCP server behind it', `${urls.gateway}/mcp`],
        ['  console', `${urls.admin}/`],
        ['  metrics, health', `${urls.admin}/metrics, ${urls.admin}/readyz`],
        ['  decision log', gateway.logFile],
        ['  calls that wait', `SALLYPORT_ADMIN_TOKEN=${adminToken} npx sallyport approvals --config ${configFile}`],
        ['MCP server, unprotected', `${urls.mcpServer}/mcp`],
        ...addresses,
      ],
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

/** A port that the demo binds on loopback. */
export interface Port {
  readonly port: number;
  /** The name of the server that listens there. */
  readonly owner: string;
}

/** One line for each port that another process uses, with the remedy; empty if all are free. */
export async function busyPorts(ports: readonly Port[]): Promise<readonly string[]> {
  const lines = await Promise.all(ports.map(async (each) => ((await isFree(each.port)) ? [] : [busyLine(each)])));
  return lines.flat();
}

function busyLine({ port, owner }: Port): string {
  return `Port ${port} is busy, and the demo's ${owner} needs it: \`lsof -i tcp:${port}\` shows the process that uses it; stop it and run this again.`;
}

async function isFree(port: number): Promise<boolean> {
  try {
    await (await listen(createServer(), port)).close();
    return true;
  } catch {
    return false;
  }
}
