import { createPublicKey, KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { jwtVerify, SignJWT } from 'jose';
import { listen, type Running } from '../../demo/listen.ts';
import { generateKey, type IssuerKey } from './issuer.ts';
import { bodyServer, sendJson } from './upstream.ts';

type Members = Readonly<Record<string, unknown>>;

/** A token as a vendor documents it: `typ: null` is none; `iat`, `nbf` and `exp` are added. */
interface DocumentedToken {
  readonly header: Members;
  readonly claims: Members;
}

/** One server of `test/fixtures/authorization-servers/`: documented shapes, made-up values. */
export interface Fixture {
  /** Its heading in `docs/authorization-servers.md`. */
  readonly section: string;
  /** The pages that the shapes are from. */
  readonly sources: readonly string[];
  /** Everything that is asked of these goes to sockets here. */
  readonly hosts: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Files that the block of YAML names: each is made with a private key in it. */
  readonly files?: readonly string[];
  /** Location → metadata. */
  readonly documents: Members;
  readonly keySet: { readonly location: string; readonly members?: Members; readonly others?: readonly object[] };
  readonly introspection?: {
    readonly location: string;
    readonly client:
      | { readonly method: 'client_secret_basic'; readonly id: string; readonly secret: string }
      | {
          readonly method: 'private_key_jwt';
          readonly id: string;
          readonly keyId: string;
          readonly audience: string;
        };
    /** `phantom`: the access token, signed. */
    readonly answer: Members | 'phantom';
  };
  readonly accessToken?: DocumentedToken;
  readonly opaqueToken?: string;
  readonly idToken: DocumentedToken;
  /** What a token has instead that lacks what the policy wants. */
  readonly missing: Members;
  /** What the log says of a good one. */
  readonly expected: Members;
}

/** A server that behaves as its vendor documents. */
export interface DocumentedServer {
  /** A text with the names of hosts replaced by where they are here. */
  local(text: string): string;
  /** A token that a client could have, with some claims otherwise; null: without. */
  token(otherwise?: Members): Promise<string>;
  /** What signs as the server does. */
  sign(token: DocumentedToken, otherwise?: Members): Promise<string>;
  /** What the gateway signs its assertions with. */
  readonly clientKey: KeyObject;
  /** The last phantom token that was answered; undefined where there are none. */
  phantom(): string | undefined;
  close(): Promise<void>;
}

/** Made once: RSA keys take long. No two servers here trust each other's. */
const [key, client] = await Promise.all([generateKey('key-1', 'RS256'), generateKey('client', 'RS256')]);
const clientKey = KeyObject.from(client.privateKey);

/** Starts `fixture`. */
export async function startDocumentedServer(fixture: Fixture): Promise<DocumentedServer> {
  const answers = new Map<string, Members>();
  const places = new Map<string, string>();
  const servers: Running[] = [];
  let phantom: string | undefined;
  let issued = 0;
  for (const host of fixture.hosts) {
    const running = await listen(
      bodyServer((request, response, body) => void answer(host, request, response, body)),
      0,
    );
    places.set(host, running.url);
    servers.push(running);
  }

  function local(text: string): string {
    return [...places].reduce((done, [host, place]) => done.replaceAll(host, place), text);
  }

  function localized<Value>(value: Value): Value {
    return JSON.parse(local(JSON.stringify(value))) as Value;
  }

  async function answer(host: string, { url, headers }: IncomingMessage, response: ServerResponse, body: string) {
    const location = `${host}${url}`;
    const { documents, keySet, introspection } = fixture;
    if (location === introspection?.location) return introspect(headers, response, new URLSearchParams(body));
    if (location === keySet.location) {
      const own = without({ ...key.publicJwk, ...keySet.members });
      return sendJson(response, 200, { keys: [...(keySet.others ?? []), own] });
    }
    const document = documents[location];
    sendJson(response, document === undefined ? 404 : 200, localized(document ?? {}));
  }

  async function introspect(headers: IncomingMessage['headers'], response: ServerResponse, form: URLSearchParams) {
    if (!(await isGateway(headers.authorization, form))) return sendJson(response, 401, { error: 'invalid_client' });
    const claims = answers.get(form.get('token') ?? '');
    if (fixture.introspection?.answer !== 'phantom') return sendJson(response, 200, claims ?? { active: false });
    if (headers.accept?.includes('application/jwt') !== true) return sendJson(response, 406, {});
    if (claims === undefined) return void response.writeHead(204).end();
    phantom = await sign({ header: fixture.accessToken?.header ?? {}, claims });
    response.writeHead(200, { 'content-type': 'application/jwt' }).end(phantom);
  }

  async function isGateway(authorization: string | undefined, form: URLSearchParams): Promise<boolean> {
    const expected = fixture.introspection?.client;
    if (expected === undefined) return false;
    if (expected.method === 'client_secret_basic') {
      const pair = Buffer.from(authorization?.replace(/^Basic /, '') ?? '', 'base64').toString();
      const [id, secret] = pair.split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
      return id === expected.id && secret === expected.secret;
    }
    const { id, keyId, audience } = expected;
    const { protectedHeader } = await jwtVerify(form.get('client_assertion') ?? '', createPublicKey(clientKey), {
      issuer: id,
      subject: id,
      audience: local(audience),
      requiredClaims: ['exp', 'iat'],
    });
    return protectedHeader.kid === keyId && authorization === undefined;
  }

  async function sign({ header, claims }: DocumentedToken, otherwise: Members = {}): Promise<string> {
    return signed(key, header, localized({ ...claims, ...otherwise }));
  }

  return {
    local,
    sign,
    clientKey,
    phantom: () => phantom,
    async token(otherwise = {}) {
      const { accessToken, introspection, opaqueToken } = fixture;
      issued += 1;
      if (introspection === undefined && accessToken !== undefined) return sign(accessToken, otherwise);
      const token =
        opaqueToken === undefined && accessToken !== undefined
          ? await sign(accessToken, { jti: String(issued) })
          : `${opaqueToken}${issued}`;
      const claims = introspection?.answer === 'phantom' ? accessToken?.claims : introspection?.answer;
      answers.set(token, without({ ...times(), ...localized({ ...claims, ...otherwise }) }));
      return token;
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

function signed(key: IssuerKey, header: Members, claims: Members): Promise<string> {
  return new SignJWT(without({ ...times(), ...claims }))
    .setProtectedHeader({ ...without(header), alg: key.alg, kid: key.kid })
    .sign(key.privateKey);
}

function times(): Members {
  const now = Math.floor(Date.now() / 1000);
  return { iat: now, nbf: now, exp: now + 300 };
}

/** Without the members that are null. */
function without(members: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
