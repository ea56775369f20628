/**
 * The behaviour of an authorization server towards MCP clients, where the standards leave room or it deviates from
 * them.
 */
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

/** A product that is an authorization server. */
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
  readonly facts: Facts;
}

/** A server by the specification. */
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
    facts: {
      '2026-11': {
        'keycloak/keycloak#41527':
          'ignores `resource`; the experimental `resource-indicators` of 26.6 only filter `aud`',
        'anthropics/claude-code#90497': 'writes no `aud` for clients by metadata document (experimental)',
        'anthropics/claude-ai-mcp#842': 'registers clients of trusted hosts only',
      },
    },
  },
  auth0: {
    ...standardServer,
    title: 'Auth0',
    section: '#auth0',
    issuer: /^https:\/\/[\w.-]+\.auth0\.com\/$/,
    registration: 'restricted',
    resource: 'ignored',
    tokens: 'encrypted',
    facts: {
      '2026-11': {
        'microsoft/vscode#274226':
          'ignores `resource` and wants `audience`; without it the token is encrypted (five parts) or opaque',
        'danny-avila/LibreChat#13401': 'ends its issuer with a slash',
        'modelcontextprotocol/inspector#566': 'registers clients only if the tenant allows it',
      },
    },
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
    facts: {
      '2026-11': {
        'anthropics/claude-ai-mcp#946': 'has only OpenID metadata, without PKCE methods',
        'https://docs.aws.amazon.com/verifiedpermissions/latest/userguide/cognito-validation.html':
          'writes no `aud` into access tokens: `client_id` and `token_use: access` instead',
        'awslabs/agentcore-samples#1056':
          'refuses a `resource` that is no resource server of the pool (`invalid_grant`)',
      },
      '2026-10': { [cognitoRegistration]: 'registers clients since autumn 2026, if the user pool allows it' },
    },
  },
  zitadel: {
    ...standardServer,
    title: 'ZITADEL',
    section: '#zitadel',
    issuer: /^https:\/\/[\w-]+\.(?:[\w-]+\.)?zitadel\.cloud$/,
    registration: 'restricted',
    documents: false,
    resource: 'ignored',
    facts: {
      '2026-10': {
        'https://zitadel.com/docs/guides/integrate/dynamic-client-registration':
          'registers clients since summer 2026, if that is enabled',
        'zitadel/zitadel#12710': 'ignores `resource`',
      },
    },
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
    facts: {
      '2026-10': {
        'https://developer.okta.com/docs/concepts/auth-servers/':
          'has one audience for each authorization server, whatever `resource` says',
      },
    },
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
    facts: {
      '2026-11': {
        'anthropics/claude-code#73460':
          'refuses a `resource` that is not the Application ID URI (AADSTS9010010), also to refresh',
        'modelcontextprotocol/csharp-sdk#1801':
          'its `aud` is the client id of the API, `scp` has no prefix, v1.0 has another issuer',
        'anthropics/claude-ai-mcp#900': 'has no registration, and does not list PKCE',
        'CyberDrain/CIPP#537':
          'refuses no scope (AADSTS900144), and one without prefix as one of Microsoft Graph (AADSTS650053)',
      },
    },
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
    facts: {
      '2026-11': {
        'google-gemini/gemini-cli#10937': 'issues opaque tokens for its own APIs, without introspection (RFC 7662)',
        'modelcontextprotocol/python-sdk#1919': 'refuses a request without scope, and the scope `offline_access`',
      },
    },
  },
  hydra: {
    ...standardServer,
    title: 'Ory Hydra',
    section: '#ory-hydra',
    documents: false,
    resource: 'ignored',
    tokens: 'opaque',
    facts: {
      '2026-11': {
        'agentarea/agentarea#381': 'ignores `resource`: `aud` is empty unless the client asks for `audience`',
      },
    },
  },
  cloudflare: {
    ...standardServer,
    title: 'Cloudflare Access',
    section: '#cloudflare-access',
    issuer: /^https:\/\/[\w-]+\.cloudflareaccess\.com(?:\/|$)/,
    resource: 'required',
    facts: { '2026-11': { 'anthropics/claude-ai-mcp#478': 'refuses an authorization request without `resource`' } },
  },
  clerk: {
    ...standardServer,
    title: 'Clerk',
    section: '#clerk',
    issuer: /^https:\/\/(?:clerk\.[\w.-]+|[\w-]+\.clerk\.accounts\.dev)$/,
    registration: 'restricted',
    facts: {
      '2026-11': {
        'anthropics/claude-code#67714': 'refuses `openid` to a client that registered without `scope`',
        'higgsfield-ai/cli#68': 'sends `iss`, which differs where another server publishes its metadata as its own',
      },
    },
  },
  'better-auth': {
    ...standardServer,
    title: 'better-auth',
    section: '#better-auth',
    issuer: /\/api\/auth$/,
    registration: 'restricted',
    resource: 'own',
    facts: {
      '2026-11': {
        'https://better-auth.com/docs/plugins/mcp': 'registers clients only if its configuration enables that',
        'different-ai/openwork#2641':
          'returns an `iss` that ends in `/api/auth`, which metadata at another origin contradict',
        'getmunin/munin#266': 'refuses a `resource` that it does not know (`invalid_target`)',
        'https://www.npmjs.com/package/better-auth/v/1.7.25':
          '1.7.25 signs with EdDSA by default (add it to `jwt.algorithms`), ' +
          'wants `application_type: native` for loopback redirect URIs, ' +
          'issues opaque tokens without `resource`, and introspects these for their own client alone',
      },
    },
  },
  lemonldap: {
    ...standardServer,
    title: 'LemonLDAP::NG',
    section: '#lemonldapng',
    registration: 'restricted',
    documents: false,
    resource: 'ignored',
    facts: {
      '2026-11': {
        'https://packages.debian.org/bookworm/lemonldap-ng':
          '2.16.1 sends no `aud` in introspection: set `audience_claim: client_id`',
      },
    },
  },
  glewlwyd: {
    ...standardServer,
    title: 'Glewlwyd',
    section: '#glewlwyd',
    registration: 'restricted',
    documents: false,
    resource: 'ignored',
    facts: {
      '2026-11': {
        'https://packages.debian.org/bookworm/glewlwyd':
          '2.7.5 sends `auth_time: 0`, which fails `max_age`, and introspects for a client only its own tokens',
      },
    },
  },
  ping: {
    ...standardServer,
    title: 'Ping Identity',
    section: '#ping-identity',
    registration: 'restricted',
    documents: false,
    resource: 'own',
    facts: {
      '2026-11': {
        [`${pingGuide}/pf_dynamic_registra_endpoint.html`]: 'PingFederate registers clients if that is enabled',
        'PrefectHQ/fastmcp#3711': 'PingFederate does not support `resource`',
        'rockcarver/frodo-cli#696':
          'AM and Advanced Identity Cloud need a proxy for registration, scopes and `resource`',
      },
    },
  },
  atlassian: {
    ...standardServer,
    title: 'Atlassian',
    isOwnApisOnly: true,
    section: '#atlassian',
    issuer: /^https:\/\/auth\.atlassian\.com$/,
    resource: 'required',
    facts: {
      '2026-11': {
        'agentic-community/mcp-gateway-registry#1427':
          'Rovo refuses an authorization request without `resource` ("Invalid context provided")',
        'sooperset/mcp-atlassian#1137': 'its API refuses `resource` at the token endpoint (`invalid_target`)',
      },
    },
  },
} as const satisfies Readonly<Record<string, ProviderQuirks>>;

/** The product of an issuer, if its form tells it. */
export function providerOf(issuer: string): ProviderQuirks | undefined {
  return Object.values<ProviderQuirks>(providers).find((each) => each.issuer?.test(issuer) === true);
}

/**
 * What a product was found to do: by the month in which the source was read, `YYYY-MM`, and by the source, a thread as
 * `owner/repository#number` or a URL.
 */
export type Facts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The page of a source. */
export function sourceUrl(source: string): string {
  return source.replace(/^([\w.-]+\/[\w.-]+)#([0-9]+)$/, 'https://github.com/$1/issues/$2');
}
