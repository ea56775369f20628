import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose/jwt/sign';
import type { Clock } from '../../core/lib/clock.ts';
import type { ClientCredentials } from '../../core/model/authorization-server.ts';
import { ensure } from '../../core/lib/remembered.ts';

interface AuthenticatedForm {
  readonly body: URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Adds client authentication to a form. The result is for one request: a server accepts an assertion once. */
export type ClientAuthentication = (
  form: URLSearchParams,
  credentials: ClientCredentials,
) => AuthenticatedForm | Promise<AuthenticatedForm>;

/** RFC 7521 §4.2. */
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Long enough for a slow clock and the request. An attacker who intercepts the assertion has no longer to use it. */
const LIFETIME_SECONDS = 60;

/** Creates the client authentication at the authorization server `issuer`. Prepares credentials at their first use. */
export function createClientAuthentication(issuer: string, clock: Clock): ClientAuthentication {
  const prepared = new WeakMap<ClientCredentials, FormAuthenticator>();
  return (form, credentials) => ensure(prepared, credentials, () => prepareFor(credentials, issuer, clock))(form);
}

type FormAuthenticator = (form: URLSearchParams) => AuthenticatedForm | Promise<AuthenticatedForm>;

function prepareFor(credentials: ClientCredentials, issuer: string, clock: Clock): FormAuthenticator {
  const { clientId: client_id } = credentials;
  switch (credentials.clientAuth) {
    case 'client_secret_basic': {
      const headers = { authorization: basicCredentials(client_id, credentials.clientSecret) };
      return (form) => ({ body: form, headers });
    }
    case 'client_secret_post': {
      const parameters = { client_id, client_secret: credentials.clientSecret };
      return (form) => ({ body: withParameters(form, parameters) });
    }
    case 'private_key_jwt':
      return async (form) => {
        const client_assertion = await assertion(credentials, issuer, clock());
        // RFC 7521 §4.2: client_id is optional, but some servers look up the client by it.
        const parameters = { client_id, client_assertion_type: ASSERTION_TYPE, client_assertion };
        return { body: withParameters(form, parameters) };
      };
  }
}

type KeyCredentials = Extract<ClientCredentials, { readonly clientAuth: 'private_key_jwt' }>;

/**
 * A client assertion, RFC 7523 §3. The audience is the issuer alone, as a string (draft-ietf-oauth-rfc7523bis): with a
 * token endpoint as the audience, a malicious server could replay the assertion there. The draft's `typ` keeps other
 * readers from accepting it as another kind of JWT.
 */
function assertion({ clientId, key, algorithm, keyId }: KeyCredentials, issuer: string, now: number): Promise<string> {
  const issuedAt = Math.floor(now / 1000);
  return new SignJWT()
    .setProtectedHeader({
      alg: algorithm,
      typ: 'client-authentication+jwt',
      ...(keyId !== undefined && { kid: keyId }),
    })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(issuer)
    .setJti(randomUUID())
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + LIFETIME_SECONDS)
    .sign(key);
}

function withParameters(form: URLSearchParams, parameters: Readonly<Record<string, string>>): URLSearchParams {
  const body = new URLSearchParams(form);
  for (const [name, value] of Object.entries(parameters)) body.set(name, value);
  return body;
}

/**
 * The `Authorization` value of a client with a secret, RFC 6749 §2.3.1: id and secret are form-encoded first. Many
 * servers do not decode them. Therefore only what has another meaning in the header or in the encoding is encoded, so
 * that the usual secrets read the same at every server.
 */
export function basicCredentials(clientId: string, clientSecret: string): string {
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** A space is `%20`, which readers of a form and of a URL decode alike. */
function formEncoded(value: string): string {
  return value.toWellFormed().replace(/[^\x21-\x7e]|[:%+]/gu, encodeURIComponent);
}
