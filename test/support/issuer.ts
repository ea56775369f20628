import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { listen } from '../../demo/listen.ts';
import { keepForm } from './secrecy.ts';
import { bodyServer, sendJson, type RequestHandler } from './upstream.ts';

/** One key of an {@link Issuer}. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** A request as an issuer received it. */
export interface IssuerRequest {
  readonly path: string;
  readonly body: string;
  readonly authorization: string | undefined;
}

/**
 * An authorization server that the test controls: it publishes the keys and signs the claims that the test sets, for
 * answers that a correct one (`demo/authorization-server.ts`) never gives.
 */
export interface Issuer {
  readonly url: string;
  readonly server: Server;
  readonly requests: IssuerRequest[];
  /** The requests to one of its endpoints, `/introspect` for example. */
  requestsTo(path: string): readonly IssuerRequest[];
  /** What `/jwks` publishes. */
  keys: JWK[];
  readonly key: IssuerKey;
  /** Answers to introspection by token; a missing one is inactive. */
  readonly introspection: Map<string, unknown>;
  /** Sees each request first; returns whether it has answered. */
  intercept: ((request: IncomingMessage, response: ServerResponse, body: string) => boolean) | undefined;
  /** Lets `answer` answer each request to one path, such as `/token`, in place of {@link Issuer.intercept}. */
  answerAt(path: string, answer: RequestHandler): void;
  /** Signs claims with `iss`, `iat`, `exp` (in 300 s) and `sub` filled in, unless given. */
  sign(claims: Record<string, unknown>, options?: SignOptions): Promise<string>;
  close(): Promise<void>;
}

export interface SignOptions {
  readonly key?: IssuerKey;
  readonly header?: Record<string, unknown>;
}

/**
 * RSA keys that no part of this test file uses, and those in use. To generate one takes a sixth of a second of processor
 * time, so that the next file gets the same ones.
 */
const [idle, lent] = [new Set<IssuerKey>(), new Set<IssuerKey>()];

/** A key pair for an issuer, which no other part of this test file has. */
export async function createKey(kid: string, alg = 'RS256'): Promise<IssuerKey> {
  const [spare] = alg === 'RS256' ? idle : [];
  if (spare !== undefined) idle.delete(spare);
  const key =
    spare === undefined ? await generateKey(kid, alg) : { ...spare, kid, publicJwk: { ...spare.publicJwk, kid } };
  if (alg === 'RS256') lent.add(key);
  return key;
}

/** A key pair that no test file gets again. */
export async function generateKey(kid: string, alg: string): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

function giveBack(key: IssuerKey): void {
  if (lent.delete(key)) idle.add(key);
}

/** Gives back all keys, at the end of a test file. */
export function giveBackKeys(): void {
  for (const key of lent) giveBack(key);
}

/** Starts an issuer with one RS256 key. `port`: a fixed one, to come back after an outage. */
export async function startIssuer(port = 0, key?: IssuerKey): Promise<Issuer> {
  const signing = key ?? (await createKey('k1'));
  if (idle.delete(signing)) lent.add(signing);
  const introspection = new Map<string, unknown>();
  const requests: Issuer['requests'] = [];
  const server = bodyServer((request, response, body) => {
    keepForm(body);
    requests.push({ path: request.url ?? '', body, authorization: request.headers.authorization });
    if (issuer.intercept?.(request, response, body) === true) return;
    const answers: Record<string, () => unknown> = {
      '/.well-known/oauth-authorization-server': () => ({
        issuer: issuer.url,
        jwks_uri: `${issuer.url}/jwks`,
        introspection_endpoint: `${issuer.url}/introspect`,
        token_endpoint: `${issuer.url}/token`,
      }),
      '/jwks': () => ({ keys: issuer.keys }),
      '/introspect': () => introspection.get(new URLSearchParams(body).get('token') ?? '') ?? { active: false },
    };
    const answer = answers[request.url ?? ''];
    sendJson(response, answer === undefined ? 404 : 200, answer?.() ?? {});
  });
  const { url, close } = await listen(server, port);
  const issuer: Issuer = {
    url,
    server,
    requests,
    requestsTo: (path) => requests.filter((request) => request.path === path),
    keys: [signing.publicJwk],
    key: signing,
    introspection,
    intercept: undefined,
    answerAt(path, answer) {
      issuer.intercept = (request, response, body) => {
        if (request.url !== path) return false;
        answer(request, response, body);
        return true;
      };
    },
    sign(claims, { key: signer = signing, header } = {}) {
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({ iss: url, sub: 'alice', iat: now, exp: now + 300, ...claims })
        .setProtectedHeader({ alg: signer.alg, kid: signer.kid, typ: 'at+jwt', ...header })
        .sign(signer.privateKey);
    },
    async close() {
      await close();
      if (key === undefined) giveBack(signing);
    },
  };
  return issuer;
}
