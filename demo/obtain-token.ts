/**
 * A small OAuth client for the walk and the tests that do not need the official MCP client: registration, and the
 * authorization code flow with PKCE, over HTTP.
 *
 * @module
 */
import { createHash, randomBytes } from 'node:crypto';

import { z } from 'zod';

import { signIn, type SignIn } from './browser.ts';

/** A client's own settings. Without a secret it is a public client. */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly redirectUri: string;
}

/** The trusted client of the demo API. */
export const demoApiClient: OAuthClient = {
  clientId: 'demo-api-client',
  clientSecret: 'demo-api-secret',
  redirectUri: 'http://127.0.0.1:7777/callback',
};

/** The answer to a token request. */
export interface Tokens {
  readonly accessToken: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly scope: string;
  readonly tokenType: string;
  readonly refreshToken?: string;
}

/** A flow to run. */
export interface TokenWish extends Omit<SignIn, 'authorizationUrl'> {
  readonly issuer: string;
  readonly client: OAuthClient;
  /** Space-separated; without it, the server's default. */
  readonly scope?: string;
  /** RFC 8707; without it, the server's default. */
  readonly resource?: string;
  /** Makes the DPoP proof of the token request, RFC 9449 §5; without it, the token is not bound. */
  readonly dpop?: (tokenEndpoint: string) => Promise<string>;
}

/** Runs the whole flow: metadata, authorization with PKCE, the user's pages, token request. */
export async function obtainToken({ issuer, client, scope, resource, dpop, ...person }: TokenWish): Promise<Tokens> {
  const metadata = await authorizationServerMetadata(issuer);
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const authorizationUrl = new URL(metadata.authorization_endpoint);
  authorizationUrl.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    ...(scope !== undefined && { scope }),
    ...(resource !== undefined && { resource }),
  }).toString();

  const { searchParams: answer } = await signIn({ ...person, authorizationUrl });
  if (answer.get('iss') !== metadata.issuer) throw new Error(`iss is ${answer.get('iss')}`); // RFC 9207 §2.4
  if (answer.get('state') !== state) throw new Error('the callback has another state');
  const code = answer.get('code');
  if (code === null) throw new Error(`${answer.get('error')}: ${answer.get('error_description')}`);

  const form = {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: client.redirectUri,
    ...(resource !== undefined && { resource }),
  };
  return requestTokens(metadata.token_endpoint, client, form, await dpop?.(metadata.token_endpoint));
}

/** Renews a token silently. */
export async function refresh(issuer: string, client: OAuthClient, refreshToken: string): Promise<Tokens> {
  const { token_endpoint: tokenEndpoint } = await authorizationServerMetadata(issuer);
  return requestTokens(tokenEndpoint, client, { grant_type: 'refresh_token', refresh_token: refreshToken });
}

/** Registers a client, RFC 7591, as an AI agent does. */
export async function registerClient(issuer: string, clientName = 'An AI agent', scope = 'read'): Promise<OAuthClient> {
  const metadata = await authorizationServerMetadata(issuer);
  const redirectUri = 'http://127.0.0.1:7777/callback';
  const response = await fetch(metadata.registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({
      client_name: clientName,
      grant_types: ['authorization_code'],
      redirect_uris: [redirectUri],
      response_types: ['code'],
      scope,
      token_endpoint_auth_method: 'client_secret_post',
    }),
  });
  const client = registered.parse(await jsonOf(response));
  return { clientId: client.client_id, clientSecret: client.client_secret, redirectUri };
}

const metadataMembers = z.object({
  issuer: z.string(),
  registration_endpoint: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  revocation_endpoint: z.string(),
});

const registered = z.object({ client_id: z.string(), client_secret: z.string() });

const tokenResponse = z.object({
  access_token: z.string(),
  expires_in: z.number(),
  scope: z.string().default(''),
  token_type: z.string(),
  refresh_token: z.string().optional(),
});

async function authorizationServerMetadata(issuer: string): Promise<z.infer<typeof metadataMembers>> {
  const response = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
  return metadataMembers.parse(await jsonOf(response));
}

/** Posts a form to an endpoint of an authorization server, which its metadata name. */
export async function post(
  issuer: string,
  endpoint: 'token_endpoint' | 'revocation_endpoint',
  form: Readonly<Record<string, string>>,
): Promise<Response> {
  const { [endpoint]: url } = await authorizationServerMetadata(issuer);
  return fetch(url, { method: 'POST', body: new URLSearchParams(form) });
}

async function requestTokens(
  tokenEndpoint: string,
  { clientId, clientSecret }: OAuthClient,
  parameters: Readonly<Record<string, string>>,
  proof?: string,
): Promise<Tokens> {
  const credential = { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
  const body = new URLSearchParams({ ...parameters, ...credential });
  const headers = { ...(proof !== undefined && { dpop: proof }) };
  const tokens = tokenResponse.parse(await jsonOf(await fetch(tokenEndpoint, { method: 'POST', headers, body })));
  return {
    accessToken: tokens.access_token,
    expiresIn: tokens.expires_in,
    scope: tokens.scope,
    tokenType: tokens.token_type,
    ...(tokens.refresh_token !== undefined && { refreshToken: tokens.refresh_token }),
  };
}

async function jsonOf(response: Response): Promise<unknown> {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
  return response.json();
}
