import { createHash, randomBytes } from 'node:crypto';
import { type Browser, createBrowser, signIn } from '../../demo/browser.ts';
import { keepSecret } from '../support/secrecy.ts';

/** A client of the front door that sends exactly what a test wants. */
export interface OAuthClient {
  readonly id: string;
  readonly redirectUri: string;
  /** The answer to its registration. */
  readonly registration: Readonly<Record<string, unknown>>;
  /** The address of an authorization request. Each parameter replaces the default; undefined leaves one out. */
  authorizationUrl(parameters?: AuthorizeRequest['parameters']): URL;
  /** Sends a person to authorize, and returns where the person comes back to the client. */
  authorize(request?: AuthorizeRequest): Promise<{ readonly callback: URL; readonly verifier: string }>;
  /** {@link authorize}, then the error that the person brings back; null without one. */
  errorOf(request?: AuthorizeRequest): Promise<string | null>;
  /** {@link authorize}, then the form that redeems the code. */
  code(request?: AuthorizeRequest): Promise<Readonly<Record<string, string>>>;
  /** {@link code}, then the answer of the token endpoint. */
  token(request?: AuthorizeRequest): Promise<TokenAnswer>;
  /** Uses a refresh token. */
  refresh(token: unknown, more?: Readonly<Record<string, string>>): Promise<TokenAnswer>;
  /** Posts to the token endpoint. */
  post(form: Readonly<Record<string, string>>, path?: string, headers?: Record<string, string>): Promise<TokenAnswer>;
}

interface AuthorizeRequest {
  readonly browser?: Browser;
  readonly approve?: boolean;
  /** The address that the person enters, where the page asks for one. */
  readonly user?: string;
  /** Parameters of the authorization request; undefined leaves one out. */
  readonly parameters?: Readonly<Record<string, string | undefined>>;
}

/** A JSON answer of the front door. */
interface TokenAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const redirectUri = 'http://127.0.0.1:8976/callback';

/** Registers a public client at `issuer`. */
export async function registerClient(issuer: string, metadata: Record<string, unknown> = {}): Promise<OAuthClient> {
  const { status, body } = await register(issuer, metadata);
  if (status !== 201) throw new Error(`the registration answered ${status} ${JSON.stringify(body)}`);
  const [uri] = body['redirect_uris'] as readonly [string];
  return oauthClient(issuer, String(body['client_id']), uri, body);
}

/** Sends a registration. */
export async function register(
  issuer: string,
  metadata: object,
  headers: Record<string, string> = {},
): Promise<TokenAnswer> {
  const response = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none', ...metadata }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A client with an identifier that needs no registration. */
export function oauthClient(
  issuer: string,
  id: string,
  uri = redirectUri,
  registration: OAuthClient['registration'] = {},
): OAuthClient {
  const secret = registration['client_secret'];
  const own = { client_id: id, ...(typeof secret === 'string' && { client_secret: secret }) };

  async function post(
    form: Readonly<Record<string, string>>,
    path = '/token',
    headers: Record<string, string> = {},
  ): Promise<TokenAnswer> {
    const body = new URLSearchParams({ ...own, ...form });
    const response = await fetch(issuer + path, { method: 'POST', headers, body });
    const text = await response.text();
    const answer = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    for (const name of ['access_token', 'refresh_token']) keepSecret(answer[name] as string | undefined);
    return { status: response.status, body: answer };
  }

  function authorizationUrl(parameters: AuthorizeRequest['parameters'] = {}): URL {
    const asked: Record<string, string | undefined> = {
      client_id: id,
      redirect_uri: uri,
      response_type: 'code',
      scope: 'read',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256',
      ...parameters,
    };
    const url = new URL(`${issuer}/authorize`);
    for (const [name, value] of Object.entries(asked)) if (value !== undefined) url.searchParams.set(name, value);
    return url;
  }

  async function authorize({
    browser = createBrowser(),
    approve = true,
    user = '',
    parameters = {},
  }: AuthorizeRequest = {}) {
    const verifier = randomBytes(32).toString('base64url');
    const url = authorizationUrl({
      state: 'the state of the client',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      ...parameters,
    });
    return { callback: await signIn({ authorizationUrl: url, user, browser, approve }), verifier };
  }

  const code: OAuthClient['code'] = async (request) => {
    const { callback, verifier } = await authorize(request);
    const value = callback.searchParams.get('code');
    if (value === null) throw new Error(`no code: ${callback.search}`);
    return { grant_type: 'authorization_code', code: value, redirect_uri: uri, code_verifier: verifier };
  };

  return {
    id,
    redirectUri: uri,
    registration,
    authorizationUrl,
    authorize,
    errorOf: async (request) => (await authorize(request)).callback.searchParams.get('error'),
    code,
    post,
    token: async (request) => post(await code(request)),
    refresh: (token, more) => post({ grant_type: 'refresh_token', refresh_token: String(token), ...more }),
  };
}
