import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAuthorizationServer } from '../../demo/authorization-server.ts';
import { startMcpServer } from '../../demo/mcp-server.ts';
import { startStatefulServer } from '../../test/clients/stateful-server.ts';
import { startIssuer, type Issuer } from '../../test/support/issuer.ts';
import { freePort } from '../../test/support/ports.ts';
import { startGateway, type GatewayProcess } from '../machine/gateway.ts';
import type { Ledger } from './ledger.ts';
import { createTokens, type Tokens } from './tokens.ts';
import { onRequestTo, startApi, type Api } from './upstreams.ts';

/** Two authorization servers, three upstreams and the gateway. */
export interface World {
  readonly gateway: GatewayProcess;
  readonly url: string;
  readonly folder: string;
  readonly api: Api;
  readonly signer: Issuer;
  readonly tokens: Tokens;
  /** The addresses of the MCP servers for clients. */
  readonly mcp: McpUrls;
  /** The gateway's calls to the authorization servers, by their own count. */
  readonly asked: ReadonlyMap<string, number>;
  /** Ends everything except the gateway. */
  close(): Promise<void>;
}

/** An MCP server with sessions and one without. */
interface McpUrls {
  readonly sessions: string;
  readonly stateless: string;
}

const AUDIENCE = 'https://api.soak.example';
const EXCHANGED = 'https://api.demo.example';

/** Starts the world. The ledger gets each request that reaches an upstream and each line of the gateway's log. */
export async function startWorld(ledger: Ledger, lifetimeSeconds: number): Promise<World> {
  const port = await freePort();
  const adminPort = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const mcp = { sessions: `${url}/sessions`, stateless: `${url}/mcp` };
  const main = await startAuthorizationServer({
    port: 0,
    mcpResource: mcp.stateless,
    extraMcpResources: [mcp.sessions, AUDIENCE],
    apiAudience: EXCHANGED,
    accessTokenTtl: lifetimeSeconds,
    highPrivilegeTtl: Math.min(lifetimeSeconds, 60),
  });
  const signer = await startIssuer();
  const reached = ({ headers }: IncomingMessage): void => ledger.reached(String(headers.traceparent));
  const api = await startApi(reached);
  const stateless = await startMcpServer({ port: 0, apiUrl: url });
  const sessions = await startStatefulServer();
  const asked = new Map<string, number>();
  const ask = (what: string): void => void asked.set(what, (asked.get(what) ?? 0) + 1);
  const stopCounting = [
    ...[api, stateless, sessions].map((upstream) => onRequestTo(upstream.url, reached)),
    onRequestTo(main.url, (request) => {
      // Only the gateway uses Basic authentication. Clients authenticate in the body.
      if (request.headers.authorization?.startsWith('Basic ') !== true) return;
      ask(request.url?.endsWith('-introspect') === true ? 'introspection' : 'exchange');
    }),
    onRequestTo(signer.url, ({ url }) => ask(url === '/jwks' ? 'jwks' : 'discovery of the signer')),
  ];
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-soak-'));
  await writeConfiguration(folder, { port, adminPort, url, issuer: main.issuer, signer: signer.url }, [
    api.url,
    stateless.url,
    sessions.url,
  ]);
  const tokens = await createTokens({
    issuer: main.issuer,
    signer,
    audience: AUDIENCE,
    mcpResources: [mcp.stateless, mcp.sessions],
    lifetimeSeconds,
  });
  const gateway = await startGateway(join(folder, 'gateway.yaml'), `http://127.0.0.1:${adminPort}`, ledger.logged);
  return {
    gateway,
    url,
    folder,
    api,
    signer,
    tokens,
    mcp,
    asked,
    async close() {
      for (const stop of stopCounting) stop();
      await Promise.all([main.close(), signer.close(), api.close(), stateless.close(), sessions.close()]);
      await rm(folder, { recursive: true });
    },
  };
}

/** The policies before an edit. */
export const policies = {
  api: { scope: 'read' },
  tools: {
    scope: 'read',
    tools: { list_accounts: {}, 'get_*': {}, transfer_funds: { scope: 'payments', max_lifetime: '60s' } },
  },
};

interface Places {
  readonly port: number;
  readonly adminPort: number;
  readonly url: string;
  readonly issuer: string;
  readonly signer: string;
}

async function writeConfiguration(
  folder: string,
  { port, adminPort, url, issuer, signer }: Places,
  [api, stateless, sessions]: readonly [string, string, string],
): Promise<void> {
  const credentials = { client_id: 'gateway', client_secret: 'gateway-secret' };
  const identity = { 'x-auth-subject': 'sub' };
  const tools = { protocol: 'mcp', authorization_servers: ['main'], tokens: ['opaque'], policy: 'tools' };
  const token = {
    token: 'exchange',
    exchange: { server: 'main', ...credentials, audience: EXCHANGED, scope: ['read'] },
  };
  const both = { audience: AUDIENCE, authorization_servers: ['main', 'signer'], policy: 'api' };
  const config = {
    public_url: url,
    listen: `127.0.0.1:${port}`,
    admin: `127.0.0.1:${adminPort}`,
    authorization_servers: {
      main: { issuer, introspection: { ...credentials, cache: '10s' } },
      signer: { issuer: signer, jwt: { algorithms: ['RS256'] } },
    },
    routes: [
      { name: 'mcp', path: '/mcp', ...tools, upstream: { url: `${stateless}/mcp`, identity, ...token } },
      { name: 'sessions', path: '/sessions', ...tools, upstream: { url: `${sessions}/mcp`, identity } },
      { name: 'api', path: '/api', methods: ['GET', 'POST'], ...both, upstream: { url: api, identity } },
      { name: 'events', path: '/events', ...both, revalidate: '5s', upstream: { url: `${api}/events`, identity } },
      { name: 'socket', path: '/socket', ...both, upgrade: 'websocket', upstream: { url: api, identity } },
    ],
  };
  await mkdir(join(folder, 'policies'));
  for (const [name, policy] of Object.entries(policies)) await savePolicy(folder, name, JSON.stringify(policy));
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config, undefined, 2));
}

/** Saves a policy by rename, as many editors do. */
export async function savePolicy(folder: string, name: string, text: string): Promise<void> {
  const draft = join(folder, `${name}.draft`);
  await writeFile(draft, text);
  await rename(draft, join(folder, 'policies', `${name}.yaml`));
}
