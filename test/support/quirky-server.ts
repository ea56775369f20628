import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type JWTPayload, SignJWT } from 'jose';
import { listen } from '../../demo/listen.ts';
import { type ProviderQuirks, providers } from '../../src/serve/config/quirks/providers.ts';
import type { TestIdentityProvider } from './identity-provider.ts';
import { generateKey, type IssuerKey } from './issuer.ts';
import { keepForm, keepSecret } from './secrecy.ts';

/** The name of a row of providers. */
export type ProviderName = keyof typeof providers;

/** An authorization server with the habits of a row of providers. A person is signed in there without a page. */
export interface QuirkyServer extends TestIdentityProvider {
  /** Lines of its entry in `authorization_servers`, below the issuer. */
  readonly settings: string;
  /** The audience that its tokens have for the resource. */
  readonly audience: string;
  readonly key: IssuerKey;
  /** Makes the ID token instead, for forged ones. `claims` are those of a correct one. */
  forge?: ((claims: JWTPayload) => Promise<string>) | undefined;
  /** Changes the redirect back to the client. */
  answer?: ((callback: URL) => void) | undefined;
  /** Shows a page before it answers an authorization request by GET; false: it shows none. */
  page?: ((response: ServerResponse) => boolean) | undefined;
  /** The requests to its token endpoint. */
  readonly exchanges: readonly URLSearchParams[];
}

/** The id of the API at Entra ID, and the client that is registered by hand everywhere. */
const apiId = 'aaaaaaaa-0000-0000-0000-00000000a111';
export const ownClient = 'registered-by-hand';

/** All sign with one: a key of RSA takes long to make. Test files share this module, so that they must not share its key. */
const signing = generateKey('k1', 'RS256');

interface Issued {
  readonly scope: string;
  readonly clientId: string;
  readonly nonce: string | null;
  readonly challenge?: string;
}

/** What the metadata of a product lack, or where they are, besides what its row says. */
const openidOnly: ReadonlySet<ProviderName> = new Set(['cognito', 'google']);

/**
 * Starts one.
 *
 * @param resource The URL of the protected resource, which is known there under this identifier.
 */
export async function startQuirkyServer(name: ProviderName, resource: string): Promise<QuirkyServer> {
  const row: ProviderQuirks = providers[name];
  const key = await signing;
  const prefix = name === 'entra' ? `${resource}/` : '';
  const audience = name === 'entra' ? apiId : name === 'cognito' ? ownClient : resource;
  const server = createServer((request, response) => void answer(request, response));
  const { url: origin, close } = await listen(server, 0);
  const path = row.metadataBelowPath ? (name === 'keycloak' ? '/realms/acme' : '/tenant/v2.0') : '';
  const issuer = origin + (name === 'auth0' ? '/' : path);
  const elsewhere = origin.replace('127.0.0.1', 'localhost');
  const codes = new Map<string, Issued>();
  const refreshTokens = new Map<string, Issued>();
  const opaque = new Map<string, Record<string, unknown>>();
  const authorizations: URLSearchParams[] = [];
  const exchanges: URLSearchParams[] = [];
  const clientSecret = randomBytes(24).toString('base64url');
  keepSecret(clientSecret);

  const metadata = {
    issuer,
    authorization_endpoint: `${row.endpointElsewhere ? elsewhere : origin}/authorize`,
    token_endpoint: `${origin}/token`,
    introspection_endpoint: `${origin}/introspect`,
    jwks_uri: `${origin}/jwks`,
    userinfo_endpoint: `${origin}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['read', 'write', 'admin'].map((scope) => prefix + scope),
    ...(row.listsPkce && { code_challenge_methods_supported: ['S256'] }),
    // `restricted`: the tests are about servers whose operator allows it.
    ...(row.registration !== 'none' && { registration_endpoint: `${origin}/register` }),
  };
  const inserted = `/.well-known/oauth-authorization-server${path}`;
  const places = new Set([`${path}/.well-known/openid-configuration`, ...(openidOnly.has(name) ? [] : [inserted])]);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', origin);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    keepForm(body);
    const send = (status: number, json: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    };
    if (places.has(url.pathname)) return send(200, metadata);
    const form = new URLSearchParams(body);
    switch (url.pathname) {
      case '/jwks':
        return send(200, { keys: [key.publicJwk] });
      case '/register':
        return send(201, {
          ...(JSON.parse(body) as object),
          client_id: `registered-${randomBytes(6).toString('hex')}`,
        });
      case '/introspect':
        return send(200, opaque.get(form.get('token') ?? '') ?? { active: false });
      case '/userinfo':
        return send(200, { sub: 'alice' });
      case '/authorize':
        if (request.method === 'GET' && running.page?.(response) === true) return;
        authorizations.push(url.searchParams);
        response.writeHead(302, { location: authorized(url.searchParams).href }).end();
        return;
      case '/token':
        exchanges.push(form);
        return redeem(form, send);
      default:
        send(404, {});
    }
  }

  /** Where a person returns to: with a code, or with the error of the product. */
  function authorized(asked: URLSearchParams): URL {
    const back = new URL(asked.get('redirect_uri') ?? '');
    const refusal = refusalOf(asked);
    const code = randomBytes(16).toString('hex');
    if (refusal === undefined) {
      codes.set(code, {
        scope: asked.get('scope') ?? 'read',
        clientId: asked.get('client_id') ?? '',
        nonce: asked.get('nonce'),
        challenge: asked.get('code_challenge') ?? '',
      });
      back.searchParams.set('code', code);
    } else {
      back.searchParams.set('error', refusal[0]);
      back.searchParams.set('error_description', refusal[1]);
    }
    back.searchParams.set('state', asked.get('state') ?? '');
    running.answer?.(back);
    return back;
  }

  function refusalOf(asked: URLSearchParams): readonly [error: string, description: string] | undefined {
    const [named, scope] = [asked.get('resource'), asked.get('scope')];
    if (row.resource === 'own' && named !== null && named !== resource) {
      return ['invalid_target', name === 'entra' ? 'AADSTS9010010: The resource is not valid' : 'unknown resource'];
    }
    if (row.resource === 'required' && named === null) return ['invalid_request', 'resource is required'];
    if (row.wantsScope && scope === null) return ['invalid_request', 'AADSTS900144: The request must contain scope'];
    const bare = (scope ?? '')
      .split(' ')
      .find((each) => !/^(?:openid|profile|email|offline_access)?$/.test(each) && !each.startsWith(prefix));
    return bare === undefined
      ? undefined
      : ['invalid_scope', `AADSTS650053: ${bare} does not exist on Microsoft Graph`];
  }

  async function redeem(form: URLSearchParams, send: (status: number, json: unknown) => void): Promise<void> {
    const isRefresh = form.get('grant_type') === 'refresh_token';
    const used = form.get(isRefresh ? 'refresh_token' : 'code') ?? '';
    const issued = (isRefresh ? refreshTokens : codes).get(used);
    (isRefresh ? refreshTokens : codes).delete(used);
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (issued === undefined || (!isRefresh && issued.challenge !== verifier))
      return send(400, { error: 'invalid_grant' });
    const named = form.get('resource');
    if (row.resource === 'own' && named !== null && named !== resource) {
      return send(400, { error: 'invalid_grant', error_description: 'AADSTS9010010' });
    }
    const access = await accessToken(issued);
    const refresh = randomBytes(16).toString('hex');
    refreshTokens.set(refresh, issued);
    for (const token of [access, refresh]) keepSecret(token);
    send(200, {
      access_token: access,
      refresh_token: refresh,
      token_type: 'Bearer',
      expires_in: 300,
      ...(issued.scope.split(' ').includes('openid') && { id_token: await idToken(issued) }),
    });
  }

  async function accessToken({ scope, clientId }: Issued): Promise<string> {
    const scopes = scope.replaceAll(prefix, '');
    const claims = { client_id: clientId, sub: 'alice', jti: randomBytes(8).toString('hex') };
    if (row.tokens === 'opaque') {
      const token = randomBytes(16).toString('hex');
      // Google has no introspection by RFC 7662.
      if (name !== 'google') opaque.set(token, { ...claims, active: true, aud: [audience], scope: scopes });
      return token;
    }
    const shape = {
      entra: { aud: audience, scp: scopes, ver: '2.0', tid: 'tenant', azp: clientId },
      cognito: { token_use: 'access', scope: scopes },
    }[name as string] ?? { aud: audience, scope: scopes };
    return signed({ ...common(), ...claims, ...shape }, key);
  }

  function idToken({ nonce, clientId }: Issued): Promise<string> {
    const claims = { ...common(), sub: 'alice', aud: clientId, ...(nonce !== null && { nonce }) };
    return running.forge?.(claims) ?? signed(claims, key);
  }

  function common() {
    const now = Math.floor(Date.now() / 1000);
    return { iss: issuer, iat: now, exp: now + 300 };
  }

  const introspected = row.tokens === 'opaque' && name !== 'google';
  const running: QuirkyServer = {
    issuer,
    clientId: 'front-door',
    clientSecret,
    person: { sub: 'alice' },
    authorizations,
    exchanges,
    audience,
    key,
    settings: [
      introspected ? 'introspection: { client_id: gateway, client_secret: secret }' : 'jwt: { algorithms: [RS256] }',
      ...(name === 'entra' ? [`scope_prefix: "${prefix}"`] : []),
      ...(name === 'cognito' ? ['audience_claim: client_id'] : []),
    ].join(', '),
    close,
  };
  return running;
}

/** Signs an ID token. */
export function signed(claims: JWTPayload, { privateKey, alg, kid }: IssuerKey): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(privateKey);
}
