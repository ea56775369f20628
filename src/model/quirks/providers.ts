import type { Fact } from './fact.ts';

/** How an authorization server meets MCP clients, where the standards leave room or the server deviates from them. */
export interface ServerTraits {
  /** Whether clients can register themselves; `restricted`: only after a change of its settings. */
  readonly registration: 'open' | 'restricted' | 'none';
  /** Whether it takes client metadata documents. */
  readonly documents: boolean;
  /** Whether its metadata have `code_challenge_methods_supported`. */
  readonly listsPkce: boolean;
  /**
   * What it does with `resource`: `used`: it becomes `aud`. `ignored`. `own`: any value but the identifier of the API
   * is refused. `required`: a request without it is refused.
   */
  readonly resource: 'used' | 'ignored' | 'own' | 'required';
  /** Whether it refuses a request without `scope`. */
  readonly wantsScope: boolean;
  /** Whether its authorization endpoint has another origin than its issuer, and its metadata do not promise `iss`. */
  readonly endpointElsewhere: boolean;
  /** Whether its issuer has a path, and its metadata are not at the bare well-known path of the origin too. */
  readonly metadataBelowPath: boolean;
  /** Whether its access tokens can be validated by others at all. */
  readonly tokens: 'jwt' | 'opaque' | 'encrypted';
}

/** One product. */
export interface ProviderQuirks extends ServerTraits {
  readonly title: string;
  /** Its section, as docs/authorization-servers.md links it. */
  readonly section: string;
  /** Recognizes its issuers; undefined: they have any form. */
  readonly issuer?: RegExp;
  /** The form of the prefix that it wants before scopes in requests; undefined: none. */
  readonly scopePrefix?: string;
  /** Whether its access tokens are for its own APIs alone. */
  readonly isOwnApisOnly?: true;
  readonly facts: readonly Fact[];
}

const month = '2026-11';

/** What a server by the specification does. */
export const standardServer = {
  registration: 'open',
  documents: true,
  listsPkce: true,
  resource: 'used',
  wantsScope: false,
  endpointElsewhere: false,
  metadataBelowPath: false,
  tokens: 'jwt',
} as const satisfies ServerTraits;

const cognitoRegistration =
  'https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-dynamic-client-registration.html';

const pingGuide = 'https://docs.pingidentity.com/pingfederate/latest/developers_reference_guide';

/** The identity providers that are known. */
export const providers = {
  keycloak: {
    ...standardServer,
    title: 'Keycloak',
    section: '#keycloak',
    issuer: /\/realms\/[^/]+$/,
    registration: 'restricted',
    documents: false,
    resource: 'ignored',
    metadataBelowPath: true,
    facts: [
      {
        text: 'ignores `resource`; the experimental `resource-indicators` of 26.6 only filter `aud`',
        source: 'keycloak/keycloak#41527',
        month,
      },
      {
        text: 'writes no `aud` for clients by metadata document (experimental)',
        source: 'anthropics/claude-code#90497',
        month,
      },
      { text: 'registers clients of trusted hosts only', source: 'anthropics/claude-ai-mcp#842', month },
    ],
  },
  auth0: {
    ...standardServer,
    title: 'Auth0',
    section: '#auth0',
    issuer: /^https:\/\/[\w.-]+\.auth0\.com\/$/,
    registration: 'restricted',
    resource: 'ignored',
    tokens: 'encrypted',
    facts: [
      {
        text: 'ignores `resource` and wants `audience`; without it the token is encrypted (five parts) or opaque',
        source: 'microsoft/vscode#274226',
        month,
      },
      { text: 'ends its issuer with a slash', source: 'danny-avila/LibreChat#13401', month },
      { text: 'registers clients only if the tenant allows it', source: 'modelcontextprotocol/inspector#566', month },
    ],
  },
  cognito: {
    ...standardServer,
    title: 'Amazon Cognito',
    section: '#amazon-cognito',
    issuer: /^https:\/\/cognito-idp\.[\w-]+\.amazonaws\.com(?:\.cn)?\//,
    registration: 'restricted',
    documents: false,
    listsPkce: false,
    resource: 'own',
    endpointElsewhere: true,
    metadataBelowPath: true,
    facts: [
      {
        text: 'has only OpenID metadata, without PKCE methods',
        source: 'anthropics/claude-ai-mcp#946',
        month,
      },
      {
        text: 'registers clients since autumn 2026, if the user pool allows it',
        source: cognitoRegistration,
        month: '2026-10',
      },
      {
        text: 'writes no `aud` into access tokens: `client_id` and `token_use: access` instead',
        source: 'https://docs.aws.amazon.com/verifiedpermissions/latest/userguide/cognito-validation.html',
        month,
      },
      {
        text: 'refuses a `resource` that is no resource server of the pool (`invalid_grant`)',
        source: 'awslabs/agentcore-samples#1056',
        month,
      },
    ],
  },
  zitadel: {
    ...standardServer,
    title: 'ZITADEL',
    section: '#zitadel',
    issuer: /^https:\/\/[\w-]+\.(?:[\w-]+\.)?zitadel\.cloud$/,
    registration: 'restricted',
    documents: false,
    resource: 'ignored',
    facts: [
      {
        text: 'registers clients since summer 2026, if that is enabled',
        source: 'https://zitadel.com/docs/guides/integrate/dynamic-client-registration',
        month: '2026-10',
      },
      { text: 'ignores `resource`', source: 'zitadel/zitadel#12710', month: '2026-10' },
    ],
  },
  okta: {
    ...standardServer,
    title: 'Okta',
    section: '#okta',
    issuer: /^https:\/\/[\w-]+\.(?:okta|oktapreview|okta-emea)\.com(?:\/|$)/,
    registration: 'none',
    documents: false,
    resource: 'ignored',
    metadataBelowPath: true,
    facts: [
      {
        text: 'has one audience for each authorization server, whatever `resource` says',
        source: 'https://developer.okta.com/docs/concepts/auth-servers/',
        month: '2026-10',
      },
    ],
  },
  entra: {
    ...standardServer,
    title: 'Microsoft Entra ID',
    section: '#microsoft-entra-id-v20-tokens',
    issuer: /^https:\/\/(?:login\.microsoftonline\.(?:com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net)\//,
    registration: 'none',
    documents: false,
    listsPkce: false,
    resource: 'own',
    scopePrefix: 'api://CLIENT_ID/',
    wantsScope: true,
    metadataBelowPath: true,
    facts: [
      {
        text: 'refuses a `resource` that is not the Application ID URI (AADSTS9010010), also to refresh',
        source: 'anthropics/claude-code#73460',
        month,
      },
      {
        text: 'its `aud` is the client id of the API, `scp` has no prefix, v1.0 has another issuer',
        source: 'modelcontextprotocol/csharp-sdk#1801',
        month,
      },
      { text: 'has no registration, and does not list PKCE', source: 'anthropics/claude-ai-mcp#900', month },
      {
        text: 'refuses no scope (AADSTS900144), and one without prefix as one of Microsoft Graph (AADSTS650053)',
        source: 'CyberDrain/CIPP#537',
        month,
      },
    ],
  },
  google: {
    ...standardServer,
    title: 'Google',
    isOwnApisOnly: true,
    section: 'front-door.md#google',
    issuer: /^https:\/\/accounts\.google\.com$/,
    registration: 'none',
    documents: false,
    resource: 'ignored',
    wantsScope: true,
    tokens: 'opaque',
    facts: [
      {
        text: 'issues opaque tokens for its own APIs, without introspection (RFC 7662)',
        source: 'google-gemini/gemini-cli#10937',
        month,
      },
      {
        text: 'refuses a request without scope, and the scope `offline_access`',
        source: 'modelcontextprotocol/python-sdk#1919',
        month,
      },
    ],
  },
  hydra: {
    ...standardServer,
    title: 'Ory Hydra',
    section: '#mcp-clients',
    documents: false,
    resource: 'ignored',
    tokens: 'opaque',
    facts: [
      {
        text: 'ignores `resource`: `aud` is empty unless the client asks for `audience`',
        source: 'agentarea/agentarea#381',
        month,
      },
    ],
  },
  cloudflare: {
    ...standardServer,
    title: 'Cloudflare Access',
    section: '#mcp-clients',
    issuer: /^https:\/\/[\w-]+\.cloudflareaccess\.com(?:\/|$)/,
    resource: 'required',
    facts: [
      { text: 'refuses an authorization request without `resource`', source: 'anthropics/claude-ai-mcp#478', month },
    ],
  },
  clerk: {
    ...standardServer,
    title: 'Clerk',
    section: '#mcp-clients',
    issuer: /^https:\/\/(?:clerk\.[\w.-]+|[\w-]+\.clerk\.accounts\.dev)$/,
    registration: 'restricted',
    facts: [
      {
        text: 'refuses `openid` to a client that registered without `scope`',
        source: 'anthropics/claude-code#67714',
        month,
      },
      {
        text: 'sends `iss`, which differs where another server publishes its metadata as its own',
        source: 'higgsfield-ai/cli#68',
        month,
      },
    ],
  },
  'better-auth': {
    ...standardServer,
    title: 'better-auth',
    section: '#mcp-clients',
    issuer: /\/api\/auth$/,
    registration: 'restricted',
    resource: 'own',
    facts: [
      {
        text: 'registers clients only if its configuration enables that',
        source: 'https://better-auth.com/docs/plugins/mcp',
        month,
      },
      {
        text: 'returns an `iss` that ends in `/api/auth`, which metadata at another origin contradict',
        source: 'different-ai/openwork#2641',
        month,
      },
      { text: 'refuses a `resource` that it does not know (`invalid_target`)', source: 'getmunin/munin#266', month },
    ],
  },
  ping: {
    ...standardServer,
    title: 'Ping Identity',
    section: '#mcp-clients',
    registration: 'restricted',
    documents: false,
    resource: 'own',
    facts: [
      {
        text: 'PingFederate registers clients if that is enabled',
        source: `${pingGuide}/pf_dynamic_registra_endpoint.html`,
        month,
      },
      { text: 'PingFederate does not support `resource`', source: 'PrefectHQ/fastmcp#3711', month },
      {
        text: 'AM and Advanced Identity Cloud need a proxy for registration, scopes and `resource`',
        source: 'rockcarver/frodo-cli#696',
        month,
      },
    ],
  },
  atlassian: {
    ...standardServer,
    title: 'Atlassian',
    isOwnApisOnly: true,
    section: '#mcp-clients',
    issuer: /^https:\/\/auth\.atlassian\.com$/,
    resource: 'required',
    facts: [
      {
        text: 'Rovo refuses an authorization request without `resource` ("Invalid context provided")',
        source: 'agentic-community/mcp-gateway-registry#1427',
        month,
      },
      {
        text: 'its API refuses `resource` at the token endpoint (`invalid_target`)',
        source: 'sooperset/mcp-atlassian#1137',
        month,
      },
    ],
  },
} as const satisfies Readonly<Record<string, ProviderQuirks>>;

/** The product of an issuer, if its form tells it. */
export function providerOf(issuer: string): ProviderQuirks | undefined {
  return Object.values<ProviderQuirks>(providers).find((each) => each.issuer?.test(issuer) === true);
}
