import type { IssuerRequest } from '../support/issuer.ts';
import { type RequestHandler, sendJson } from '../support/upstream.ts';
import { startWorld, type World } from './gateway.ts';

/** What the token endpoint answers. */
interface TokenAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** A gateway that exchanges tokens, and a token endpoint whose answers the test sets. */
export interface ExchangeWorld extends World {
  /** The answer to a token exchange. */
  answer: TokenAnswer;
  /** The answer to the client credentials grant. */
  own: TokenAnswer;
  /** Sets both answers back to successful ones. */
  reset(): void;
  /** A JWT of a new caller, for which no token is cached. */
  freshToken(claims?: Record<string, unknown>): Promise<string>;
  /** An opaque token of a new caller. */
  opaqueToken(): string;
  /** The requests to an endpoint of the issuer. */
  asked(path?: '/token' | '/introspect'): readonly IssuerRequest[];
  /** The form of the last request to the token endpoint. */
  lastForm(): URLSearchParams;
}

/** A token type identifier of RFC 8693 §3, by its last segment. */
export const type = (name: string): string => `urn:ietf:params:oauth:token-type:${name}`;

/** A successful answer, RFC 8693 §2.2.1. */
export const granted = {
  access_token: 'new',
  issued_token_type: type('access_token'),
  token_type: 'Bearer',
  expires_in: 100,
};

const ownToken = { access_token: 'gateway-itself', token_type: 'Bearer', expires_in: 600 };
const succeeding = { answer: { status: 200, body: granted }, own: { status: 200, body: ownToken } };

const exchange = (members: string): string =>
  `, token: exchange, exchange: { client_id: gateway, client_secret: secret, ${members} }`;

const main = 'authorization_servers: [main]';

/** A route, with more members of its upstream and of itself. */
const route = (name: string, path: string, upstream: string, more = main): string =>
  `name: ${name}, path: ${path}, audience: a, ${more}, upstream: { url: "UPSTREAM"${upstream} }`;

/** Starts it. `upstream`: how the upstream answers. */
export async function startExchangeWorld(upstream?: RequestHandler): Promise<ExchangeWorld> {
  const base = await startWorld({
    server: 'jwt: { algorithms: [RS256] }, introspection: { client_id: gateway, client_secret: secret, cache: 60s }',
    routes: [
      route('api', '/', exchange('server: main, audience: b, resource: "https://b.example/x", scope: [read, write]')),
      route('delegated', '/delegated', exchange('server: main, actor: client_credentials')),
      route('plain', '/plain', ''),
      route('tools', '/mcp', exchange('server: main, scope: [api]'), `${main}, protocol: mcp, policy: tools`),
    ],
    policies: { tools: 'scope: read\ntools: { pay: { scope: payments }, look: {} }\n' },
    ...(upstream && { upstream }),
  });
  let callers = 0;
  const newCaller = (): string => `caller-${(callers += 1)}`;
  const asked: ExchangeWorld['asked'] = (path = '/token') => base.issuer.requestsTo(path);
  const world: ExchangeWorld = {
    ...base,
    ...succeeding,
    reset: () => void Object.assign(world, succeeding),
    // Hours pass here for the gateway.
    freshToken: (claims = {}) => base.token({ sub: newCaller(), exp: Date.now() / 1000 + 86_400, ...claims }),
    opaqueToken: () => base.opaque({ sub: newCaller() }),
    asked,
    lastForm: () => new URLSearchParams(asked().at(-1)?.body),
  };
  base.issuer.answerAt('/token', (_request, response, body) => {
    const isOwn = new URLSearchParams(body).get('grant_type') === 'client_credentials';
    const { status, body: json } = isOwn ? world.own : world.answer;
    sendJson(response, status, json);
  });
  return world;
}
