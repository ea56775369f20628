import { createHash, randomBytes } from 'node:crypto';
import type { ClientMetadata, Configuration } from 'oidc-provider';
import { startProvider } from './oidc-provider.ts';
import { keepSecret } from './secrecy.ts';

/** A real OpenID provider, oidc-provider, where the person of the test is signed in without a page. */
export interface TestIdentityProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The person who signs in next; undefined: the person refuses. */
  person: TestPerson | undefined;
  /** The requests to its authorization endpoint, in their order. */
  readonly authorizations: readonly URLSearchParams[];
  close(): Promise<void>;
}

/** A person at the provider. */
interface TestPerson {
  readonly sub: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** When the person signed in, in seconds; default: now. */
  readonly authTime?: number;
  /** How the person signed in. */
  readonly acr?: string;
}

/** Options of {@link startIdentityProvider}. */
export interface IdentityProviderOptions {
  readonly redirectUri: string;
  readonly client?: Partial<ClientMetadata>;
  /** The claims of ID tokens; others are at the userinfo endpoint. Default: `roles`, `tid`, `email`, `email_verified`. */
  readonly idTokenClaims?: readonly string[];
  readonly userInfoClaims?: readonly string[];
}

const clientId = 'front-door';

/** Starts one on a free port of loopback. */
export async function startIdentityProvider(options: IdentityProviderOptions): Promise<TestIdentityProvider> {
  const clientSecret = randomBytes(24).toString('base64url');
  keepSecret(clientSecret);
  const authorizations: URLSearchParams[] = [];
  const people = new Map<string, TestPerson>();
  const { idTokenClaims = ['roles', 'tid', 'email', 'email_verified'], userInfoClaims = [] } = options;
  const configuration: Configuration = {
    scopes: ['openid', 'email', 'profile'],
    acrValues: ['phr', 'mfa', 'pwd'],
    claims: { openid: ['sub', ...idTokenClaims], profile: [...userInfoClaims] },
    conformIdTokenClaims: userInfoClaims.length > 0,
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [options.redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        ...options.client,
      },
    ],
    pkce: { required: () => true },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    features: { devInteractions: { enabled: false } },
    findAccount: (_ctx, sub) => {
      const person = people.get(sub);
      return person && { accountId: sub, claims: () => ({ ...person.claims, sub }) };
    },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    // Codes of two sign-ins at once stay valid.
    expiresWithSession: () => false,
    loadExistingGrant: async (ctx) => {
      const { client, session } = ctx.oidc;
      const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
      grant.addOIDCScope('openid email profile');
      grant.addOIDCClaims([...idTokenClaims, ...userInfoClaims]);
      await grant.save();
      return grant;
    },
  };
  const { issuer, provider, close } = await startProvider(configuration, ['RS256'], (request, response, next) => {
    const url = new URL(request.url ?? '/', issuer);
    if (url.pathname === '/auth') authorizations.push(url.searchParams);
    if (!url.pathname.startsWith('/interaction/')) return void next(request, response);
    const { person } = identityProvider;
    const refusal = { error: 'access_denied', error_description: 'refused' };
    if (person !== undefined) people.set(person.sub, person);
    const login = person && {
      accountId: person.sub,
      ...(person.authTime !== undefined && { ts: person.authTime }),
      ...(person.acr !== undefined && { acr: person.acr }),
    };
    return void provider.interactionFinished(request, response, login === undefined ? refusal : { login });
  });
  const identityProvider: TestIdentityProvider = {
    issuer,
    clientId,
    clientSecret,
    person: { sub: createHash('sha256').update(issuer).digest('hex').slice(0, 8) },
    authorizations,
    close,
  };
  return identityProvider;
}
