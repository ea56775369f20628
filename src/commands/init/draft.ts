import type { McpServer } from '../../mcp/client/ask-server.ts';
import { keyAlgorithms, type PublicKey, signatureAlgorithms } from '../../tokens/servers/key-algorithms.ts';
import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { ServerMetadata } from '../../ports/authorization-server-client.ts';
import { readFile } from 'node:fs/promises';
import { packageRoot } from '../../capabilities/package-root.ts';
import type { ToolsPolicy } from './tools-policy.ts';

/** The facts that a first configuration is made from; without any of them, from the templates alone. */
export interface Known {
  /** The URL of the MCP server, and the policy for its tools. */
  readonly upstream:
    | ({ readonly url: string; readonly policy: ToolsPolicy } & Pick<McpServer, 'capableOnly' | 'others'>)
    | undefined;
  /** The headers for it by their names, with their placeholders. */
  readonly headers: ReadonlyMap<string, string>;
  readonly server: Discovered | undefined;
  readonly opaque: boolean;
  /** Whether the server is the provider of a front door. */
  readonly frontDoor: boolean;
}

/** The files to write, in the order of reading; from `templates/`, or from `schema/`. */
export const configurationFiles = [
  'gateway.yaml',
  'policies/tools.yaml',
  'policies/tools.test.yaml',
  // For editors; the first line of the other files names them.
  'schema/gateway.schema.json',
  'schema/policy.schema.json',
  'schema/policy-test.schema.json',
];
export const compositionFiles = ['docker-compose.yml', 'prometheus.yml'];

/** The content of one of the files. */
export async function draft(file: string, { upstream, headers, server, opaque, frontDoor }: Known): Promise<string> {
  if (upstream !== undefined && file === 'policies/tools.yaml') return upstream.policy.policy;
  if (upstream !== undefined && file === 'policies/tools.test.yaml') return upstream.policy.tests;
  const template = await readFile(
    new URL(file.startsWith('schema/') ? file : `templates/${file}`, packageRoot),
    'utf8',
  );
  // URLs have neither spaces nor braces here, so that they stay within their placeholder and their scalar.
  switch (file) {
    case 'gateway.yaml': {
      const text = withHeaders(withUpstream(template, upstream?.url), headers);
      return frontDoor ? withFrontDoor(text, server?.issuer) : withIntrospection(withServer(text, server), opaque);
    }
    case 'docker-compose.yml':
      // Compose would take `$` for a variable.
      return server === undefined ? template : withIssuer(template, server.issuer.replaceAll('$', '$$$$'));
    default:
      return template;
  }
}

function withUpstream(text: string, url: string | undefined): string {
  if (url === undefined) return text;
  const named = replaced(text, 'MCP_SERVER_URL:-http://127.0.0.1:3001/mcp', `MCP_SERVER_URL:-${url}`);
  return replaced(named, '# CHANGE: the server behind', '# The server behind');
}

function withHeaders(text: string, headers: Known['headers']): string {
  if (headers.size === 0) return text;
  const lines = Array.from(headers, ([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)}\n`);
  const before = "      # The caller's identity, as headers.";
  return replaced(
    text,
    before,
    `      # The gateway's own headers for the server.\n      headers:\n${lines.join('')}${before}`,
  );
}

function withIssuer(text: string, issuer: string): string {
  return replaced(text, 'ISSUER:-http://127.0.0.1:9000', `ISSUER:-${issuer}`);
}

function withServer(text: string, server: Discovered | undefined): string {
  if (server === undefined) return text;
  const { issuer, algorithms, introspectionEndpoint } = server;
  const named = replaced(
    withIssuer(text, issuer),
    '# CHANGE: your authorization server',
    '# Your authorization server',
  );
  // It signs no tokens: all of them are opaque.
  if (algorithms.length === 0) return withIntrospection(replaced(named, signed, ''), true);
  const signing = replaced(named, 'algorithms: [RS256]', `algorithms: [${algorithms.join(', ')}]`);
  return introspectionEndpoint === undefined ? replaced(signing, `\n${commented}`, '') : signing;
}

/** The front door in place of the authorization servers. */
function withFrontDoor(text: string, issuer = 'http://127.0.0.1:9100'): string {
  const servers = text.slice(text.indexOf('authorization_servers:\n'), text.indexOf('# For several replicas'));
  return replaced(text, servers, frontDoorSection.replace('ISSUER_OF_PROVIDER', issuer));
}

const frontDoorSection = `\
# The built-in authorization server, docs/front-door.md.
front_door:
  # CHANGE: its URL for clients. A host name of its own leads to \`listen\`, 127.0.0.1:8090.
  issuer: \${env:FRONT_DOOR_ISSUER:-http://127.0.0.1:8090}
  identity_providers:
    company:
      # Your OpenID provider. CHANGE: the client that you register there, with the redirect URI ISSUER/callback/company,
      # where ISSUER is that of the front door.
      issuer: \${env:ISSUER:-ISSUER_OF_PROVIDER}
      client_id: sallyport
      client_secret: \${env:PROVIDER_SECRET}
      # Claims of the provider that policies read: { role: /roles/0 }
      #claims: {}
  clients:
    # \`sallyport front-door --clients\` lists the known clients; loopback: every program on the user's machine.
    registration:
      redirect_uris: ['known:claude', 'known:vscode', 'known:cursor', 'known:loopback']
    metadata_documents: ['https://claude.ai/**', 'https://vscode.dev/**']
  scopes:
    read: { title: Read }
    write: { title: Read and change }

`;

function withIntrospection(text: string, enable: boolean): string {
  return enable && text.includes(commented) ? replaced(text, commented, enabled) : text;
}

const signed = `    jwt:
      # The gateway accepts no other signature algorithm.
      algorithms: [RS256]

`;
const commented = `\
    # CHANGE: if the server issues opaque tokens, remove the # of the next 3 lines. As a client that you register there,
    # the gateway asks about each token (RFC 7662).
    #introspection:
    #  client_id: gateway
    #  client_secret: \${env:GATEWAY_CLIENT_SECRET}
`;
const enabled = `\
    # CHANGE: a client that you register there. As that client, the gateway asks about each token (RFC 7662).
    introspection:
      client_id: gateway
      client_secret: \${env:GATEWAY_CLIENT_SECRET}
`;

/** @throws {TypeError} unless `from` stands in the template once. */
function replaced(text: string, from: string, to: string): string {
  const [before, after, ...more] = text.split(from);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new TypeError(`a template does not have ${JSON.stringify(from)} once`);
  }
  return before + to + after;
}

/** The metadata of an authorization server, RFC 8414. */
export interface Discovered {
  readonly issuer: string;
  /** The signature algorithms of its keys; empty: it publishes none. */
  readonly algorithms: readonly string[];
  /** Undefined: its opaque tokens cannot be introspected. */
  readonly introspectionEndpoint: string | undefined;
  /** `scopes_supported`; undefined: it does not say. */
  readonly scopes: readonly string[] | undefined;
}

/**
 * Asks the authorization server `issuer` for its metadata and keys, by the code that `serve` uses.
 *
 * @param label Begins the messages.
 * @throws {Denial} if it cannot be reached, or its metadata name another issuer or nothing by which tokens can be
 *   verified.
 */
export async function discovered(issuer: string, label: string): Promise<Discovered> {
  // Only here: most runs of `init` need no server.
  const { createServerClient } = await import('../../tokens/servers/client.ts');
  const { publishedKeys } = await import('../../tokens/keys.ts');
  const client = createServerClient(serverAt(issuer, label), () => {}, Date.now);
  try {
    const metadata = await client.metadata();
    const { introspectionEndpoint, jwksUri, document } = metadata;
    const algorithms =
      jwksUri === undefined ? [] : algorithmsOf((await publishedKeys(client)).set.jwks().keys, metadata);
    return { issuer, algorithms, introspectionEndpoint, scopes: texts(document['scopes_supported']) };
  } finally {
    client.close();
  }
}

function serverAt(issuer: string, name: string): AuthorizationServer {
  return {
    name,
    issuer,
    backchannel: issuer,
    jwt: { algorithms: [], types: undefined, jwksUri: undefined },
    introspection: undefined,
    clockToleranceMs: 0,
    timeoutMs: 10_000,
    staleMs: 0,
  };
}

/** One algorithm for each signing key. A key for RSA need not name its own: the metadata then do, for ID tokens. */
function algorithmsOf(keys: readonly PublicKey[], { document }: ServerMetadata): readonly string[] {
  const forIdTokens = new Set(texts(document['id_token_signing_alg_values_supported']));
  const found = new Set(
    keys.flatMap((key) => {
      const possible = keyAlgorithms(key);
      const named = possible.filter((each) => forIdTokens.has(each));
      return named.length > 0 ? named : possible.slice(0, 1);
    }),
  );
  return signatureAlgorithms.filter((each) => found.has(each));
}

function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : undefined;
}
