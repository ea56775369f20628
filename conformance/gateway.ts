import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type GatewayProcess, startGatewayProcess } from '../demo/gateway-process.ts';

/** The values of the gateway's configuration. */
export interface GatewayOptions {
  /** The folder for the configuration and for the log. */
  readonly folder: string;
  readonly publicUrl: string;
  readonly issuer: string;
  /** The MCP server behind it. */
  readonly upstream: string;
}

/**
 * Starts `sallyport serve` with one MCP route. Its policy only requires a scope, so that a difference comes from the
 * protocol and not from a policy.
 */
export async function startGateway({ folder, publicUrl, issuer, upstream }: GatewayOptions): Promise<GatewayProcess> {
  await mkdir(join(folder, 'policies'), { recursive: true });
  await writeFile(join(folder, 'policies', 'reader.yaml'), 'scope: read\n');
  const config = {
    public_url: publicUrl,
    listen: '127.0.0.1:0',
    admin: 'off',
    authorization_servers: { main: { issuer, jwt: { algorithms: ['RS256'] } } },
    routes: [{ name: 'everything', path: '/mcp', protocol: 'mcp', policy: 'reader', upstream: { url: upstream } }],
  };
  // JSON is YAML.
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify(config, undefined, 2));
  return serve(folder);
}

/** Starts `sallyport serve` with the `gateway.yaml` of a folder. Its log is `gateway.log` there. */
export function serve(folder: string): Promise<GatewayProcess> {
  // The suite leaves streams open.
  return startGatewayProcess(join(folder, 'gateway.yaml'), join(folder, 'gateway.log'), 1_000);
}
