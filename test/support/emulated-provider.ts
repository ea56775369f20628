import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type JWTPayload, SignJWT } from 'jose';
import { listen } from '../../demo/listen.ts';
import type { TestIdentityProvider, TestPerson } from './identity-provider.ts';
import { createKey, type IssuerKey } from './issuer.ts';
import { keepCredential, keepForm, keepSecret } from './secrecy.ts';
import { bodyServer, sendJson } from './upstream.ts';

/** An OpenID provider that behaves as one of the large ones, or as a test wants. */
export interface EmulatedProvider extends TestIdentityProvider {
  readonly key: IssuerKey;
  /** Makes the ID token instead, for forged ones. `claims` are those of a correct one. */
  forge: ((claims: JWTPayload) => Promise<string>) | undefined;
  /** Changes the redirect back to the front door. */
  answer: ((callback: URL) => void) | undefined;
  /** Shows a page before it answers an authorization request by GET; false: it shows none. */
  page: ((response: ServerResponse) => boolean) | undefined;
  /** The requests to its token endpoint. */
  readonly exchanges: readonly URLSearchParams[];
  userInfoRequests: number;
}

/** How a provider differs from the standard. */
interface Habits {
  /** The path of the issuer, and those of its endpoints. */
  readonly paths: Record<'issuer' | 'authorize' | 'token' | 'userinfo' | 'keys', string>;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The error of an authorization request that the provider refuses; undefined: it takes the request. */
  refuse(asked: URLSearchParams): { readonly error: string; readonly error_description: string } | undefined;
  /** Claims of ID tokens besides those of every provider. */
  idTokenClaims(person: TestPerson, clientId: string): Record<string, unknown>;
  userInfo(person: TestPerson): Record<string, unknown>;
  accessToken(): string;
  /** Members of the token response besides those of every provider. */
  readonly tokenAnswer: Readonly<Record<string, unknown>>;
  readonly clientId: string;
}

const tenant = '9188040d-6c67-4c5b-b112-36a304b66dad';

/**
 * Microsoft Entra ID, v2.0 endpoint: the issuer has the tenant and a version, metadata do not name PKCE, `resource` is
 * refused (AADSTS901002), a scope is one of OpenID Connect or a full URI, the userinfo endpoint has few claims.
 */
export const entra: Habits = {
  paths: {
    issuer: `/${tenant}/v2.0`,
    authorize: `/${tenant}/oauth2/v2.0/authorize`,
    token: `/${tenant}/oauth2/v2.0/token`,
    userinfo: '/oidc/userinfo',
    keys: `/${tenant}/discovery/v2.0/keys`,
  },
  metadata: {
    response_modes_supported: ['query', 'fragment', 'form_post'],
    subject_types_supported: ['pairwise'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
    tenant_region_scope: 'EU',
  },
  refuse(asked) {
    if (asked.has('resource')) {
      return {
        error: 'invalid_request',
        error_description: "AADSTS901002: The 'resource' request parameter is not supported.",
      };
    }
    const scopes = (asked.get('scope') ?? '').split(' ');
    const unknown = scopes.find(
      (scope) => !/^(?:openid|profile|email|offline_access|(?:api|https):\/\/.+)$/.test(scope),
    );
    return unknown === undefined
      ? undefined
      : {
          error: 'invalid_scope',
          error_description: `AADSTS70011: The provided value for scope ${unknown} is not valid.`,
        };
  },
  idTokenClaims: ({ claims = {} }) => ({
    ver: '2.0',
    tid: tenant,
    oid: randomUUID(),
    uti: randomBytes(8).toString('base64url'),
    rh: '0.',
    ...claims,
  }),
  userInfo: ({ sub }) => ({ sub, picture: 'https://graph.microsoft.com/v1.0/me/photo/$value' }),
  // For Microsoft Graph; not for its client to read.
  accessToken: () => `eyJub25jZSI6I${randomBytes(24).toString('base64url')}`,
  tokenAnswer: { ext_expires_in: 3599 },
  clientId: '6731de76-14a6-49ae-97bc-6eba6914391e',
};

/**
 * Google: opaque access tokens, `azp` in every ID token, `hd` for people of an organization, no `auth_time` unless a
 * client is approved for it, names at the userinfo endpoint.
 */
export const google: Habits = {
  paths: {
    issuer: '',
    authorize: '/o/oauth2/v2/auth',
    token: '/token',
    userinfo: '/v1/userinfo',
    keys: '/oauth2/v3/certs',
  },
  metadata: {
    subject_types_supported: ['public'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    code_challenge_methods_supported: ['plain', 'S256'],
  },
  refuse: () => undefined,
  idTokenClaims: ({ claims: { hd, email } = {} }, clientId) => ({ azp: clientId, hd, email, email_verified: true }),
  userInfo: ({ sub, claims }) => ({ ...claims, sub }),
  accessToken: () => `ya29.${randomBytes(48).toString('base64url')}`,
  tokenAnswer: {},
  clientId: '407408718192.apps.googleusercontent.com',
};

interface Issued {
  readonly person: TestPerson;
  readonly asked: URLSearchParams;
}

/** A request, and the response to it. */
interface Exchange {
  readonly asked: URLSearchParams;
  readonly form: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Starts one on a free port of loopback, with `redirectUri` registered for its only client. */
export async function startEmulatedProvider(habits: Habits, redirectUri: string): Promise<EmulatedProvider> {
  const key = await createKey('k1');
  const { paths, clientId } = habits;
  const server = bodyServer((request, response, body) => {
    const url = new URL(request.url ?? '/', origin);
    const answer = endpoints[url.pathname] ?? (async () => sendJson(response, 404, {}));
    void answer({ asked: url.searchParams, request, response, form: new URLSearchParams(body) });
  });
  const { url: origin, close } = await listen(server, 0);
  const clientSecret = randomBytes(24).toString('base64url');
  keepSecret(clientSecret);
  const codes = new Map<string, Issued>();
  const tokens = new Map<string, TestPerson>();
  const authorizations: URLSearchParams[] = [];
  const exchanges: URLSearchParams[] = [];

  const endpoints: Record<string, (exchange: Exchange) => Promise<void>> = {
    async [`${paths.issuer}/.well-known/openid-configuration`]({ response }) {
      sendJson(response, 200, {
        issuer: provider.issuer,
        authorization_endpoint: origin + paths.authorize,
        token_endpoint: origin + paths.token,
        userinfo_endpoint: origin + paths.userinfo,
        jwks_uri: origin + paths.keys,
        response_types_supported: ['code', 'id_token'],
        id_token_signing_alg_values_supported: ['RS256'],
        scopes_supported: ['openid', 'profile', 'email'],
        ...habits.metadata,
      });
    },
    [paths.keys]: async ({ response }) => sendJson(response, 200, { keys: [key.publicJwk] }),
    async [paths.authorize]({ asked, request, response }) {
      if (request.method === 'GET' && provider.page?.(response) === true) return;
      authorizations.push(asked);
      const callback = new URL(redirectUri);
      if (asked.get('redirect_uri') !== redirectUri || asked.get('client_id') !== clientId) {
        return sendJson(response, 400, { error: 'redirect_uri_mismatch' });
      }
      const refusal =
        provider.person === undefined
          ? { error: 'access_denied', error_description: 'the person refused' }
          : habits.refuse(asked);
      if (refusal === undefined && provider.person !== undefined) {
        const code = randomBytes(24).toString('base64url');
        codes.set(code, { person: provider.person, asked });
        callback.searchParams.set('code', code);
      } else {
        for (const [name, value] of Object.entries(refusal ?? {})) callback.searchParams.set(name, value);
      }
      callback.searchParams.set('state', asked.get('state') ?? '');
      provider.answer?.(callback);
      response.writeHead(302, { location: callback.href }).end();
    },
    async [paths.token]({ request, response, form }) {
      keepCredential(request.headers.authorization);
      keepForm(String(form));
      exchanges.push(form);
      const code = form.get('code') ?? '';
      const issued = codes.get(code);
      codes.delete(code);
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      if (issued === undefined || issued.asked.get('code_challenge') !== challenge) {
        return sendJson(response, 400, { error: 'invalid_grant' });
      }
      const accessToken = habits.accessToken();
      keepSecret(accessToken);
      tokens.set(accessToken, issued.person);
      sendJson(response, 200, {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: 3599,
        scope: issued.asked.get('scope'),
        id_token: await idTokenOf(issued),
        ...habits.tokenAnswer,
      });
    },
    async [paths.userinfo]({ request, response }) {
      provider.userInfoRequests += 1;
      const person = tokens.get((request.headers.authorization ?? '').replace('Bearer ', ''));
      return person === undefined
        ? sendJson(response, 401, { error: 'invalid_token' })
        : sendJson(response, 200, habits.userInfo(person));
    },
  };

  function idTokenOf({ person, asked }: Issued): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims: JWTPayload = {
      iss: provider.issuer,
      aud: clientId,
      sub: person.sub,
      iat: now,
      exp: now + 3600,
      nonce: asked.get('nonce') ?? undefined,
      ...(person.authTime !== undefined && { auth_time: person.authTime }),
      ...habits.idTokenClaims(person, clientId),
    };
    return provider.forge?.(claims) ?? signed(claims, key);
  }

  const provider: EmulatedProvider = {
    issuer: origin + paths.issuer,
    clientId,
    clientSecret,
    key,
    person: { sub: '10769150350006150715113082367' },
    authorizations,
    exchanges,
    userInfoRequests: 0,
    forge: undefined,
    answer: undefined,
    page: undefined,
    close,
  };
  return provider;
}

/** Signs an ID token. */
export function signed(claims: JWTPayload, { privateKey, alg, kid }: IssuerKey): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(privateKey);
}
