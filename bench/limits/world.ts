import { fork } from 'node:child_process';
import { createPrivateKey, sign, type JsonWebKey } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startGateway, type GatewayProcess } from '../machine/gateway.ts';
import { freePort } from '../../test/support/ports.ts';

/** Where the gateway's surroundings are. */
export interface Places {
  readonly upstream: string;
  readonly issuer: string;
  /** The private key of the issuer. */
  readonly key: object;
}

/** What a client needs. */
export interface Target extends Places {
  readonly url: string;
}

/** A gateway in its surroundings. */
export interface World {
  readonly gateway: GatewayProcess;
  readonly target: Target;
  readonly close: () => Promise<void>;
}

export const AUDIENCE = 'https://api.example';
/** The priority of whatever would run on a machine of its own, were there more than one. */
export const LOW = 19;
/** How many tools the MCP server has. */
export const TOOLS = 10_000;

/** Starts a gateway as operators have it, with every default. */
export async function startWorld(): Promise<World> {
  const servers = [1, 2].map(() => fork(fileURLToPath(new URL('servers.ts', import.meta.url))));
  // The well-behaved have an upstream of their own: what the others do to theirs is not the gateway's, nor its machine's.
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

/** Creates what signs JWTs that the gateway accepts, no two the same; fast, for many are needed. */
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
