import { loopbackHosts } from '../../lib/loopback.ts';
import type { Fact } from './fact.ts';

/** What an MCP client sends, wants and refuses, where the standards leave room or the client deviates from them. */
export interface ClientQuirks {
  readonly title: string;
  /** The redirect URIs that it uses, as patterns of `front_door.clients.registration.redirect_uris`. */
  readonly redirectUris: readonly string[];
  /** The URL of its client metadata document; undefined: it has none. */
  readonly metadataDocument?: string;
  /** The resource metadata that it reads first: those that the challenge names, or those at the root of the origin. */
  readonly resourceMetadata: 'challenge' | 'root';
  /** Whether it refuses metadata whose `resource` is not, byte for byte, the URL that its user entered. */
  readonly comparesResource?: true;
  /**
   * `resource` in its authorization requests: the published value, the URL that its user entered with the query, the
   * origin alone, or none.
   */
  readonly resource: 'published' | 'entered' | 'origin' | 'absent';
  /** Whether its refresh requests have `resource`. */
  readonly refreshes: 'with resource' | 'without resource' | 'never';
  /** Where it takes the scope of its first request from. */
  readonly scope: 'challenge' | 'resource metadata' | 'server metadata' | 'none';
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
  readonly facts: readonly Fact[];
}

const month = '2026-11';

/** The source of what a release of npm does, which `npm run conformance:clients` starts. */
function tried(name: string, version: string): string {
  return `https://www.npmjs.com/package/${name}/v/${version}`;
}

/** What a client by the specification does. */
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
    facts: [
      {
        text: 'calls `/authorize` and `/token` of the MCP server if metadata lack PKCE methods',
        source: 'anthropics/claude-ai-mcp#82',
        month,
      },
      {
        text: 'asks the user again at a 403',
        source: 'https://claude.com/docs/connectors/building/lazy-authentication',
        month: '2026-10',
      },
      { text: 'registers twice for one sign-in', source: 'anthropics/claude-ai-mcp#966', month },
      { text: 'keeps state by URL: a new query starts afresh', source: 'anthropics/claude-ai-mcp#514', month },
      {
        text: 'begins to sign in only at a 401 with `WWW-Authenticate`, for `initialize` too',
        source: 'anthropics/claude-ai-mcp#217',
        month,
      },
    ],
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
    facts: [
      {
        text: 'takes the resource of the metadata at the root, and not those that the challenge names',
        source: 'anthropics/claude-code#52871',
        month,
      },
      { text: 'sent the query of its URL in `resource`', source: 'getsentry/sentry-for-ai#334', month },
      {
        text: '2.1.332 sends the published `resource`; after a 403 `claude mcp login NAME` asks for the scope',
        source: tried('@anthropic-ai/claude-code', '2.1.332'),
        month,
      },
      { text: '2.1.251 sent no `resource`', source: 'anthropics/claude-code#90497', month },
      { text: 'drops the path of an issuer', source: 'anthropics/claude-code#95270', month },
      { text: 'refuses metadata without PKCE methods', source: 'anthropics/claude-code#26675', month },
      { text: 'steps up since 2.1.118', source: 'anthropics/claude-code#52201', month: '2026-10' },
      {
        text: 'reports step-up as "token expired" in 2.1.199',
        source: 'anthropics/claude-code#73712',
        month: '2026-10',
      },
    ],
  },
  chatgpt: {
    ...standard,
    title: 'ChatGPT',
    redirectUris: ['https://chatgpt.com/connector/oauth/*', 'https://chatgpt.com/connector_platform_oauth_redirect'],
    metadataDocument: 'https://chatgpt.com/oauth/client.json',
    resource: 'origin',
    stepUp: 'unknown',
    facts: [
      {
        text: 'documents step-up for tool results only',
        source: 'https://developers.openai.com/plugins/build/auth',
        month: '2026-10',
      },
      { text: 'sends the origin as `resource`', source: 'garrytan/gbrain#5222', month },
      { text: 'has a redirect URI for each connector', source: 'BasedHardware/omi#8824', month },
    ],
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
    facts: [
      {
        text: 'uses another port on loopback than it registered if that one is busy',
        source: 'microsoft/vscode#278512',
        month,
      },
      { text: 'steps up since October 2025', source: 'microsoft/vscode#269883', month: '2026-10' },
      {
        text: 'asks for all of `scopes_supported` with a client of your own',
        source: 'microsoft/vscode#316235',
        month: '2026-10',
      },
    ],
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
    facts: [
      {
        text: 'has no metadata document',
        source: 'https://forum.cursor.com/t/mcp-oauth-cimd-support-plans-and-timelines/148096',
        month: '2026-10',
      },
      {
        text: 'registers a private scheme, loopback and an https URI together: one that is refused refuses all',
        source: 'makeplane/plane-mcp-server#159',
        month,
      },
    ],
  },
  codex: {
    ...standard,
    title: 'Codex',
    redirectUris: ['http://127.0.0.1:*/callback', 'http://127.0.0.1:*/callback/*'],
    refreshes: 'without resource',
    stepUp: 'no',
    wantsIss: true,
    facts: [
      {
        text: '0.171 reports a 403 as "Insufficient scope"; `codex mcp login NAME --scopes …` signs in again',
        source: tried('@openai/codex', '0.171.0'),
        month,
      },
      { text: 'sends no `resource` when it refreshes', source: 'openai/codex#33403', month },
      {
        text: 'up to 0.145 took the scopes of the server; 0.171 does not',
        source: 'openai/codex#24890',
        month,
      },
      {
        text: 'since 0.150 refuses endpoints of another origin than the issuer without `iss`',
        source: 'openai/codex#40885',
        month,
      },
      {
        text: 'ends its redirect URI with an id of the server',
        source: 'https://github.com/openai/codex/blob/main/codex-rs/rmcp-client/src/perform_oauth_login.rs',
        month,
      },
    ],
  },
  'gemini-cli': {
    ...standard,
    title: 'Gemini CLI',
    redirectUris: ['http://localhost:*/oauth/callback'],
    resourceMetadata: 'root',
    comparesResource: true,
    scope: 'server metadata',
    stepUp: 'unknown',
    facts: [
      {
        text: 'looks at the root first, and refuses a `resource` that is not exactly its URL',
        source: 'google-gemini/gemini-cli#15754',
        month,
      },
      { text: 'takes the scopes of the server', source: 'google-gemini/gemini-cli#10937', month },
    ],
  },
  'copilot-studio': {
    ...standard,
    title: 'Copilot Studio',
    redirectUris: ['https://global.consent.azure-apim.net/redirect/*'],
    scope: 'none',
    stepUp: 'no',
    facts: [
      { text: 'sends no scope after discovery', source: 'tableau/tableau-mcp#866', month },
      { text: 'has a redirect URI for each connector', source: 'CyberDrain/CIPP#278', month },
    ],
  },
  inspector: {
    ...standard,
    title: 'MCP Inspector',
    redirectUris: ['localhost', '127.0.0.1'].flatMap((host) => [
      `http://${host}:*/oauth/callback`,
      `http://${host}:*/oauth/callback/debug`,
    ]),
    facts: [
      {
        text: 'may register another path than it then uses',
        source: 'modelcontextprotocol/inspector#930',
        month,
      },
      {
        text: '2.12.0 does not step up on the command line',
        source: tried('@modelcontextprotocol/inspector', '2.12.0'),
        month,
      },
    ],
  },
  'copilot-cli': {
    ...standard,
    title: 'Copilot CLI',
    stepUp: 'unknown',
    facts: [{ text: 'compares issuers exactly, the last slash included', source: 'github/copilot-cli#4606', month }],
  },
  opencode: {
    ...standard,
    title: 'opencode',
    stepUp: 'unknown',
    facts: [
      {
        text: 'since 2.0.4 compares issuers exactly, the last slash included, which JumpCloud has',
        source: 'anomalyco/opencode#50036',
        month,
      },
      {
        text: 'returns to `http://127.0.0.1:19876/mcp/oauth/callback`',
        source: tried('opencode-ai', '1.18.33'),
        month,
      },
    ],
  },
  'mcp-remote': {
    ...standard,
    title: 'mcp-remote',
    facts: [
      {
        text: 'may send no `resource` to the token endpoint (`--disable-resource-parameter`)',
        source: 'punkpeye/mcp-remote#217',
        month,
      },
    ],
  },
  'typescript-sdk': {
    ...standard,
    title: 'TypeScript SDK',
    facts: [
      {
        text: 'gives an origin without a path a slash in `resource`',
        source: 'anthropics/claude-code#52871',
        month,
      },
    ],
  },
  'python-sdk': {
    ...standard,
    title: 'Python SDK',
    facts: [{ text: 'steps up since 1.18', source: 'modelcontextprotocol/python-sdk#1324', month: '2026-10' }],
  },
} as const satisfies Readonly<Record<string, ClientQuirks>>;

const withRedirects = Object.entries<ClientQuirks>(clients).flatMap(([name, { redirectUris }]) =>
  redirectUris.length === 0 ? [] : [[name, redirectUris] as const],
);

/** What `known:NAME` in `front_door.clients.registration.redirect_uris` stands for. */
export const knownRedirects: ReadonlyMap<string, readonly string[]> = new Map([
  ...withRedirects,
  ['loopback', loopbackRedirects],
]);
