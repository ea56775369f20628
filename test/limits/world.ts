import { fork } from 'node:child_process';
import { createPrivateKey, sign, type JsonWebKey } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startGateway, type GatewayProcess } from './gateway-process.ts';
import { freePort } from '../support/ports.ts';

/** The addresses of the other servers. */
export interface Places {
  readonly upstream: string;
  readonly issuer: string;
  /** The private key of the issuer. */
  readonly key: object;
}

/** What a client needs to call the gateway. */
export interface Target extends Places {
  readonly url: string;
}

/** A gateway with the servers that it needs. */
export interface World {
  readonly gateway: GatewayProcess;
  readonly target: Target;
  readonly close: () => Promise<void>;
}

export const AUDIENCE = 'https://api.example';
/** The priority of processes that would run on another machine in production. */
export const LOW = 19;
/** The number of tools of the MCP server. */
export const TOOLS = 10_000;

/** Starts a gateway with default limits, as operators run it. */
export async function startWorld(): Promise<World> {
  const servers = [1, 2].map(() => fork(fileURLToPath(new URL('servers.ts', import.meta.url))));
  // The well-behaved client has an upstream of its own, which the noise cannot reach.
  setPriority(servers[0]?.pid ?? 0, LOW);
  const [places, quiet] = (await Promise.all(
    servers.map(async (server) => (await once(server, 'message'))[0] as unknown),
  )) as [Places, Places];
  const port = await freePort();
  const adminPort = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-limits-'));
  const upstream = (path: string): object => ({ url: places.upstream + path, identity: { 'x-auth-subject': 'sub' } });
  const guarded = { audience: AUDIENCE, policy: 'reader' };
  const config = {
    public_url: url,
    listen: `127.0.0.1:${port}`,
    admin: `127.0.0.1:${adminPort}`,
    authorization_servers: {
      main: {
        issuer: places.issuer,
        jwt: { algorithms: ['ES256'] },
        introspection: { client_id: 'gateway', client_secret: 'secret', cache: '5m' },
      },
    },
    routes: [
      { name: 'api', path: '/api', ...guarded, upstream: upstream('/api') },
      { name: 'quiet', path: '/quiet', ...guarded, upstream: { url: quiet.upstream } },
      { name: 'events', path: '/events', ...guarded, upstream: upstream('/events') },
      { name: 'mcp', path: '/mcp', protocol: 'mcp', audience: AUDIENCE, policy: 'tools', upstream: upstream('/mcp') },
    ],
  };
  await mkdir(join(folder, 'policies'));
  await writeFile(join(folder, 'policies/reader.yaml'), '{ scope: read }');
  await writeFile(join(folder, 'policies/tools.yaml'), '{ scope: read, tools: { "tool_1*": {}, get_balance: {} } }');
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config));
  const gateway = await startGateway(join(folder, 'gateway.yaml'), `http://127.0.0.1:${adminPort}`);
  return {
    gateway,
    target: { ...places, url },
    async close() {
      await gateway.stop();
      for (const server of servers) server.disconnect();
      await rm(folder, { recursive: true });
    },
  };
}

/** Creates a fast signer of JWTs that the gateway accepts. Each JWT is different. */
export function createSigner({ issuer, key }: Places): (subject: string) => string {
  const privateKey = createPrivateKey({ key: key as JsonWebKey, format: 'jwk' });
  const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const header = encoded({ alg: 'ES256', kid: 'k1', typ: 'at+jwt' });
  let made = 0;
  return (sub) => {
    made += 1;
    const iat = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuer,
      aud: AUDIENCE,
      sub,
      scope: 'read',
      iat,
      exp: iat + 3600,
      jti: `${process.pid} ${made}`,
    };
    const signed = `${header}.${encoded(claims)}`;
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  };
}
