import { openStore } from '../../src/capabilities/all.ts';
import { revocationSettings } from '../../src/capabilities/revocation/slot.ts';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMcpServer } from '../../demo/mcp-server.ts';
import { loadConfig } from '../../src/serve/config/load.ts';
import { type RunningFrontDoor, startFrontDoor } from '../../src/front-door/front-door.ts';
import type { Config } from '../../src/ports/config.ts';
import type { FrontDoor } from '../../src/ports/front-door.ts';
import type { FrontDoorObserver } from '../../src/front-door/observer.ts';
import { type Running, start } from '../../src/serve/start.ts';
import {
  type IdentityProviderOptions,
  startIdentityProvider,
  type TestIdentityProvider,
} from '../support/identity-provider.ts';
import { postMessage } from '../support/mcp-message.ts';
import { freePort } from '../support/ports.ts';
import { keepConfig } from '../support/secrecy.ts';
import { createWrittenLog, type WrittenLog } from '../support/written-log.ts';

/** A gateway with one MCP route that trusts only the front door, the front door, and an OpenID provider behind it. */
export interface FrontDoorWorld extends WrittenLog {
  readonly mcpUrl: URL;
  readonly issuer: string;
  readonly provider: TestIdentityProvider;
  readonly gateway: Running;
  readonly frontDoor: RunningFrontDoor;
  /** What the front door observed: `sign-in corporate ok`. */
  readonly observed: readonly string[];
  readonly config: Config & { readonly frontDoor: FrontDoor };
  /** Its configuration with other settings of the front door. */
  configWith(changes: Partial<FrontDoor>): Config;
  /** Lists the tools with a token, or with headers; the status of the answer. */
  listTools(token: unknown, headers?: Record<string, string>): Promise<number>;
  /** @throws {Error} if the front door had a bug. */
  close(): Promise<void>;
}

/** Changes to the world. */
export interface FrontDoorWorldOptions {
  /** Lines of `front_door`, besides issuer, listen, provider and scopes. Default: loopback clients register themselves. */
  readonly frontDoor?: string;
  /** `scopes` of `front_door`. */
  readonly scopes?: string;
  /** `claims` of the provider. */
  readonly claims?: string;
  /** Starts another provider than oidc-provider. */
  readonly startProvider?: (redirectUri: string) => Promise<TestIdentityProvider>;
  /** More lines of the provider, each with its indentation. */
  readonly providerLines?: string;
  readonly provider?: Omit<IdentityProviderOptions, 'redirectUri'>;
  readonly policy?: string;
  /** More policies, by name. */
  readonly policies?: Readonly<Record<string, string>>;
  /** More lines of `gateway.yaml`. */
  readonly top?: string;
  /** The path of the issuer below the public URL, through a public route of the gateway; default: its own origin. */
  readonly below?: string;
  /** Whether metadata documents on loopback are trusted by this authority. */
  readonly ca?: string;
  /** More lines of the MCP route, each with its indentation, or more routes. */
  readonly routeLines?: string;
  /** The MCP server; default: that of the demo. */
  readonly upstream?: string;
  /** The clock of the front door's own records; oidc-provider has the system's. */
  readonly clock?: () => number;
}

/** The files and the servers of the world, with neither gateway nor front door. */
export interface FrontDoorFiles {
  /** The folder of `gateway.yaml`. */
  readonly folder: string;
  readonly gatewayUrl: string;
  readonly issuer: string;
  readonly provider: TestIdentityProvider;
  close(): Promise<void>;
}

const openRegistration = 'clients: { registration: { redirect_uris: ["http://127.0.0.1:*/**"] } }';
const defaultScopes = '{ read: { title: Read accounts }, payments: { title: Move money, lifetime: 60s, max_age: 5m } }';
const defaultPolicy = 'scope: read\ntools:\n  list_*: {}\n  transfer_funds: { scope: payments }\n';

/** Starts what is around gateway and front door, and writes their configuration. */
export async function writeFrontDoorFiles(options: FrontDoorWorldOptions = {}): Promise<FrontDoorFiles> {
  // Clients compare URLs as strings, so they must be known before anything listens.
  const gatewayUrl = `http://127.0.0.1:${await freePort()}`;
  const listen = `127.0.0.1:${await freePort()}`;
  const { below } = options;
  const issuer = below === undefined ? `http://${listen}` : `${gatewayUrl}${below}`;
  const redirectUri = `${issuer}/callback/corporate`;
  const provider = await (options.startProvider?.(redirectUri) ??
    startIdentityProvider({ redirectUri, ...options.provider }));
  const mcpServer = await startMcpServer({ port: 0, apiUrl: gatewayUrl });
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'));
  await mkdir(join(folder, 'policies'));
  for (const [name, text] of Object.entries({ tools: options.policy ?? defaultPolicy, ...options.policies })) {
    await writeFile(join(folder, `policies/${name}.yaml`), text);
  }
  await writeFile(
    join(folder, 'gateway.yaml'),
    `
public_url: ${gatewayUrl}
listen: ${new URL(gatewayUrl).host}
admin: 127.0.0.1:0
${options.top ?? ''}
front_door:
  issuer: ${issuer}
  listen: ${listen}
  identity_providers:
    corporate:
      issuer: ${provider.issuer}
      client_id: ${provider.clientId}
      client_secret: ${provider.clientSecret}
      claims: ${options.claims ?? '{ role: /roles/0, tenant: tid }'}
${options.providerLines ?? ''}
  scopes: ${options.scopes ?? defaultScopes}
  ${options.frontDoor ?? openRegistration}
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    resource: { name: Tools, scopes_supported: [read] }
    authorization_servers: [front_door]
    policy: tools
    upstream: { url: ${options.upstream ?? mcpServer.url}/mcp }
${options.routeLines ?? ''}
${below === undefined ? '' : `  - { name: signin, path: ${below}, public: true, upstream: { url: "http://${listen}${below}" } }`}
`,
  );
  return {
    folder,
    gatewayUrl,
    issuer,
    provider,
    async close() {
      await Promise.all([provider.close(), mcpServer.close()]);
    },
  };
}

/** Starts it. */
export async function startFrontDoorWorld(options: FrontDoorWorldOptions = {}): Promise<FrontDoorWorld> {
  const files = await writeFrontDoorFiles(options);
  const { gatewayUrl, issuer, provider } = files;
  const config = (await loadConfig(join(files.folder, 'gateway.yaml'), {})) as FrontDoorWorld['config'];
  keepConfig(config);
  const { output, ...log } = createWrittenLog();
  const observed: string[] = [];
  const frontDoor = await startFrontDoor(config, {
    openStore,
    observer: observerInto(observed),
    onRevoked: (tokens) => gateway.endTokens(tokens),
    ...(revocationSettings.of(config) !== undefined && {
      // The gateway starts after it.
      revocations: {
        isReady: () => true,
        revokes: (token) => gateway.kept?.check.revokes(token) === true,
        refusing: (token) => gateway.kept?.check.refusing(token),
        blocks: (issuer, client) => gateway.kept?.check.blocks(issuer, client) === true,
        hasEnded: (issuer, client, at) => gateway.kept?.check.hasEnded(issuer, client, at) === true,
      },
    }),
    log: (level, msg, fields = {}) => void observed.push(['log', level, msg, ...Object.values(fields)].join(' ')),
    onBug(error) {
      observed.push(`bug ${error instanceof Error ? error.stack : String(error)}`);
    },
    ...(options.ca !== undefined && { ca: options.ca }),
    ...(options.clock !== undefined && { clock: options.clock }),
  });
  const gateway = await start(config, { output });
  return {
    ...log,
    mcpUrl: new URL('/mcp', gatewayUrl),
    issuer,
    provider,
    gateway,
    frontDoor,
    config,
    configWith: (changes) => ({ ...config, frontDoor: { ...config.frontDoor, ...changes } }),
    observed,
    async listTools(token, headers = { authorization: `Bearer ${String(token)}` }) {
      const response = await postMessage(`${gatewayUrl}/mcp`, { method: 'tools/list', headers });
      await response.body?.cancel();
      return response.status;
    },
    async close() {
      await gateway.close(0);
      await Promise.all([frontDoor.close(), files.close()]);
      const bugs = observed.filter((line) => line.startsWith('bug'));
      if (bugs.length > 0) throw new Error(bugs.join('\n'));
    },
  };
}

/** An observer that writes what it observes as words. */
export function observerInto(observed: string[]): FrontDoorObserver {
  return {
    signIn(provider, result, { why = '', claims }) {
      const told = claims === undefined ? '' : JSON.stringify(claims);
      observed.push(`sign-in ${provider} ${result} ${why}${told}`.trim());
    },
    consent: (result) => void observed.push(`consent ${result}`),
    token: (grant, result, { why = '' }) => void observed.push(`token ${grant} ${result} ${why}`.trim()),
    registration: (result, { client_name: name = '', why = '' } = {}) =>
      void observed.push(`registration ${result} ${name} ${why}`.trim()),
    grantEnded: (why, { client_id: client, subject, first_used: used }) =>
      void observed.push(`grant ended ${why} ${client} ${subject} ${used}`),
  };
}
