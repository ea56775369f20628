import { loopbackHosts } from '../../../core/lib/ip-address.ts';
import type { Facts, ServerTraits } from './providers.ts';

/** The behaviour of an MCP client, where the standards leave room or the client deviates from them. */
export interface ClientQuirks {
  readonly title: string;
  /** The redirect URIs that it uses, as patterns of `front_door.clients.registration.redirect_uris`. */
  readonly redirectUris: readonly string[];
  /** The URL of its client metadata document, or a pattern of `metadata_documents`; undefined: it has none. */
  readonly metadataDocument?: string;
  /** The resource metadata that it reads first: those that the challenge names, or those at the root of the origin. */
  readonly resourceMetadata: 'challenge' | 'root';
  /** Whether it refuses metadata whose `resource` is not, byte for byte, the URL that its user entered. */
  readonly comparesResource?: true;
  /** `resource` in its authorization requests: the published value, the URL that its user entered, or its origin. */
  readonly resource: 'published' | 'entered' | 'origin';
  /** Whether its refresh requests have `resource`. */
  readonly refreshes: 'with resource' | 'without resource';
  /** Where it takes the scope of its first request from. */
  readonly scope: 'challenge' | 'server metadata' | 'none';
  /** Whether it asks for the scope of a 403. */
  readonly stepUp: 'yes' | 'no' | 'unknown';
  /** Where it looks for the metadata of an issuer with a path. */
  readonly serverMetadata: 'by the issuer' | 'at the origin';
  /** Whether it refuses metadata without `code_challenge_methods_supported`. */
  readonly wantsPkceListed?: true;
  /**
   * Whether it refuses an authorization endpoint on another origin than the issuer, unless the metadata promise `iss`
   * in the answer (RFC 9207).
   */
  readonly wantsIss?: true;
  /** Whether it calls `/authorize`, `/token` and `/register` of the resource's origin if it cannot use the metadata. */
  readonly fallsBackToRoot?: true;
  /** How often it registers for one sign-in. */
  readonly registrations?: 2;
  readonly facts: Facts;
}

/** The source of what a release of npm does, which the tests or `npm run conformance:clients` start. */
function tried(name: string, version: string): string {
  return `https://www.npmjs.com/package/${name}/v/${version}`;
}

/** A client by the specification. */
const standard = {
  redirectUris: [],
  resourceMetadata: 'challenge',
  resource: 'published',
  refreshes: 'with resource',
  scope: 'challenge',
  stepUp: 'yes',
  serverMetadata: 'by the issuer',
} as const satisfies Partial<ClientQuirks>;

/** Redirect URIs of any program on the person's computer. */
const loopbackRedirects: readonly string[] = loopbackHosts.map((host) => `http://${host}:*/**`);

/** The MCP clients that are known, by the names of `doctor --client` and `known:NAME`. */
export const clients = {
  claude: {
    ...standard,
    title: 'Claude (web, Desktop)',
    redirectUris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
    metadataDocument: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    wantsPkceListed: true,
    fallsBackToRoot: true,
    registrations: 2,
    facts: {
      '2026-11': {
        'anthropics/claude-ai-mcp#82':
          'calls `/authorize` and `/token` of the MCP server if metadata lack PKCE methods',
        'anthropics/claude-ai-mcp#966': 'registers twice for one sign-in',
        'anthropics/claude-ai-mcp#514': 'keeps state by URL: a new query starts afresh',
        'anthropics/claude-ai-mcp#217': 'begins to sign in only at a 401 with `WWW-Authenticate`, for `initialize` too',
      },
      '2026-10': { 'https://claude.com/docs/connectors/building/lazy-authentication': 'asks the user again at a 403' },
    },
  },
  'claude-code': {
    ...standard,
    title: 'Claude Code',
    redirectUris: ['http://localhost:*/callback', 'http://127.0.0.1:*/callback'],
    metadataDocument: 'https://claude.ai/oauth/claude-code-client-metadata',
    resourceMetadata: 'root',
    resource: 'entered',
    serverMetadata: 'at the origin',
    wantsPkceListed: true,
    facts: {
      '2026-11': {
        'anthropics/claude-code#52871':
          'takes the resource of the metadata at the root, and not those that the challenge names',
        'getsentry/sentry-for-ai#334': 'sent the query of its URL in `resource`',
        [tried('@anthropic-ai/claude-code', '2.1.332')]:
          '2.1.332 sends the published `resource`; after a 403 `claude mcp login NAME` asks for the scope',
        'anthropics/claude-code#90497': '2.1.251 sent no `resource`',
        'anthropics/claude-code#95270': 'drops the path of an issuer',
        'anthropics/claude-code#26675': 'refuses metadata without PKCE methods',
      },
      '2026-10': {
        'anthropics/claude-code#52201': 'steps up since 2.1.118',
        'anthropics/claude-code#73712': 'reports step-up as "token expired" in 2.1.199',
      },
    },
  },
  chatgpt: {
    ...standard,
    title: 'ChatGPT',
    redirectUris: ['https://chatgpt.com/connector/oauth/*', 'https://chatgpt.com/connector_platform_oauth_redirect'],
    metadataDocument: 'https://chatgpt.com/oauth/*/client.json',
    resource: 'origin',
    stepUp: 'unknown',
    facts: {
      '2026-10': { 'https://developers.openai.com/plugins/build/auth': 'documents step-up for tool results only' },
      '2026-11': {
        'https://developers.openai.com/plugins/build/auth':
          'has a metadata document for each connector, and still `/oauth/client.json` for older ones',
        'garrytan/gbrain#5222': 'sends the origin as `resource`',
        'BasedHardware/omi#8824': 'has a redirect URI for each connector',
      },
    },
  },
  vscode: {
    ...standard,
    title: 'VS Code',
    redirectUris: [
      'http://127.0.0.1:*/',
      'http://127.0.0.1:*',
      'http://localhost:*/',
      'https://vscode.dev/redirect',
      'https://insiders.vscode.dev/redirect',
    ],
    metadataDocument: 'https://vscode.dev/oauth/client-metadata.json',
    facts: {
      '2026-11': { 'microsoft/vscode#278512': 'uses another port on loopback than it registered if that one is busy' },
      '2026-10': {
        'microsoft/vscode#269883': 'steps up since October 2025',
        'microsoft/vscode#316235': 'asks for all of `scopes_supported` with a client of your own',
      },
    },
  },
  cursor: {
    ...standard,
    title: 'Cursor',
    redirectUris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'http://localhost:*/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
    ],
    stepUp: 'unknown',
    facts: {
      '2026-10': {
        'https://forum.cursor.com/t/mcp-oauth-cimd-support-plans-and-timelines/148096': 'has no metadata document',
      },
      '2026-11': {
        'makeplane/plane-mcp-server#159':
          'registers a private scheme, loopback and an https URI together: one that is refused refuses all',
      },
    },
  },
  codex: {
    ...standard,
    title: 'Codex',
    redirectUris: ['http://127.0.0.1:*/callback', 'http://127.0.0.1:*/callback/*'],
    refreshes: 'without resource',
    stepUp: 'no',
    wantsIss: true,
    facts: {
      '2026-11': {
        [tried('@openai/codex', '0.171.0')]:
          '0.171 reports a 403 as "Insufficient scope"; `codex mcp login NAME --scopes …` signs in again',
        'openai/codex#33403': 'sends no `resource` when it refreshes',
        'openai/codex#24890': 'up to 0.145 took the scopes of the server; 0.171 does not',
        'openai/codex#40885': 'since 0.150 refuses endpoints of another origin than the issuer without `iss`',
        'https://github.com/openai/codex/blob/main/codex-rs/rmcp-client/src/perform_oauth_login.rs':
          'ends its redirect URI with an id of the server',
      },
    },
  },
  'gemini-cli': {
    ...standard,
    title: 'Gemini CLI',
    redirectUris: ['http://localhost:*/oauth/callback'],
    resourceMetadata: 'root',
    comparesResource: true,
    scope: 'server metadata',
    stepUp: 'unknown',
    facts: {
      '2026-11': {
        'google-gemini/gemini-cli#15754':
          'looks at the root first, and refuses a `resource` that is not exactly its URL',
        'google-gemini/gemini-cli#10937': 'takes the scopes of the server',
      },
    },
  },
  'copilot-studio': {
    ...standard,
    title: 'Copilot Studio',
    redirectUris: ['https://global.consent.azure-apim.net/redirect/*'],
    scope: 'none',
    stepUp: 'no',
    facts: {
      '2026-11': {
        'tableau/tableau-mcp#866': 'sends no scope after discovery',
        'CyberDrain/CIPP#278': 'has a redirect URI for each connector',
      },
    },
  },
  inspector: {
    ...standard,
    title: 'MCP Inspector',
    redirectUris: ['localhost', '127.0.0.1'].flatMap((host) => [
      `http://${host}:*/oauth/callback`,
      `http://${host}:*/oauth/callback/debug`,
    ]),
    facts: {
      '2026-11': {
        'modelcontextprotocol/inspector#930': 'may register another path than it then uses',
        [tried('@modelcontextprotocol/inspector', '2.12.0')]: '2.12.0 does not step up on the command line',
      },
    },
  },
  'copilot-cli': {
    ...standard,
    title: 'Copilot CLI',
    stepUp: 'unknown',
    facts: { '2026-11': { 'github/copilot-cli#4606': 'compares issuers exactly, the last slash included' } },
  },
  opencode: {
    ...standard,
    title: 'opencode',
    stepUp: 'unknown',
    facts: {
      '2026-11': {
        'anomalyco/opencode#50036':
          'since 2.0.4 compares issuers exactly, the last slash included, which JumpCloud has',
        [tried('opencode-ai', '1.18.33')]: 'returns to `http://127.0.0.1:19876/mcp/oauth/callback`',
      },
    },
  },
  'mcp-remote': {
    ...standard,
    title: 'mcp-remote',
    facts: {
      '2026-11': {
        'punkpeye/mcp-remote#217': 'may send no `resource` to the token endpoint (`--disable-resource-parameter`)',
      },
    },
  },
  'typescript-sdk': {
    ...standard,
    title: 'TypeScript SDK',
    facts: {
      '2026-11': {
        [tried('@modelcontextprotocol/sdk', '1.32.2')]:
          'v1 with a refresh token refreshes at a 403, and does not step up',
        'anthropics/claude-code#52871': 'gives an origin without a path a slash in `resource`',
      },
    },
  },
  'python-sdk': {
    ...standard,
    title: 'Python SDK',
    facts: { '2026-10': { 'modelcontextprotocol/python-sdk#1324': 'steps up since 1.18' } },
  },
} as const satisfies Readonly<Record<string, ClientQuirks>>;

const withRedirects = Object.entries<ClientQuirks>(clients).flatMap(([name, { redirectUris }]) =>
  redirectUris.length === 0 ? [] : [[name, redirectUris] as const],
);

/** The redirect URIs of `known:NAME` in `front_door.clients.registration.redirect_uris`. */
export const knownRedirects: ReadonlyMap<string, readonly string[]> = new Map([
  ...withRedirects,
  ['loopback', loopbackRedirects],
]);

/** The encounter of one client with one authorization server. */
export interface Encounter {
  readonly client: ClientQuirks;
  readonly server: ServerTraits;
  /** Whether the gateway leads `/authorize`, `/token` and `/register` of its origin to the server. */
  readonly endpointsAtRoot: boolean;
}

/** An obstacle that stops a client at an authorization server, and what to change. */
export interface Obstacle {
  /** The step at which the client stops. */
  readonly at: 'discovery' | 'authorization' | 'step-up';
  /** In a few words, for tables. */
  readonly cause: string;
  readonly text: string;
  readonly remedy: string;
}

const frontDoor = 'let the route trust the front door';

/** The obstacles that are known, in the order in which a client meets them. */
const obstacles: readonly (Obstacle & { readonly stops: (encounter: Encounter) => boolean })[] = [
  {
    at: 'discovery',
    cause: 'issuer with a path',
    text: 'it looks for metadata only at the bare well-known path, and the issuer has a path',
    remedy: frontDoor,
    stops: ({ client, server }) => client.serverMetadata === 'at the origin' && server.metadataBelowPath,
  },
  {
    at: 'discovery',
    cause: 'PKCE not listed',
    text: 'it refuses metadata without code_challenge_methods_supported',
    remedy: frontDoor,
    stops: ({ client, server, endpointsAtRoot }) =>
      client.wantsPkceListed === true && !server.listsPkce && !(client.fallsBackToRoot === true && endpointsAtRoot),
  },
  {
    at: 'discovery',
    cause: 'endpoint at another origin',
    text: 'it refuses an authorization endpoint on another origin than the issuer without iss',
    remedy: frontDoor,
    stops: ({ client, server }) => client.wantsIss === true && server.endpointElsewhere,
  },
  {
    at: 'authorization',
    cause: 'origin as `resource`',
    text: 'it sends the origin as resource, and the server takes only the identifier of the API',
    remedy: frontDoor,
    stops: ({ client, server }) => client.resource === 'origin' && server.resource === 'own',
  },
  {
    at: 'authorization',
    cause: 'no scope',
    text: 'it sends no scope, and the server wants one',
    remedy: frontDoor,
    stops: ({ client, server }) => client.scope === 'none' && server.wantsScope,
  },
  {
    at: 'step-up',
    cause: 'no step-up',
    text: 'it does not ask for the scope of a 403',
    remedy: 'list every scope in resource.scopes_supported, and set first_challenge: supported',
    stops: ({ client }) => client.stepUp === 'no',
  },
];

/** The obstacles of an encounter, in the order in which the client meets them. */
export function obstaclesOf(encounter: Encounter): readonly Obstacle[] {
  return obstacles.filter(({ stops }) => stops(encounter));
}
