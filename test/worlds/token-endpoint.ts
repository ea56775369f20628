import { createServerClient } from '../../src/authorization-server/client.ts';
import { createCredentialSources, type CredentialSource } from '../../src/pipeline/exchange/credential-source.ts';
import type { AuthorizationServerClient } from '../../src/model/authorization-server.ts';
import type { Grant, PresentedToken } from '../../src/model/grant.ts';
import type { Principal } from '../../src/model/principal.ts';
import type { Plan } from '../../src/model/policy.ts';
import type { Route, TokenExchange, UpstreamToken } from '../../src/model/route.ts';
import { bearer } from '../support/bearer.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { serverOf } from '../support/server.ts';

/** An answer of the token endpoint. */
export interface TokenAnswer {
  readonly status?: number;
  readonly body: unknown;
}

/** A token endpoint whose answers the test sets, and exchanges that call it. */
export interface TokenEndpointWorld {
  readonly issuer: Issuer;
  readonly client: AuthorizationServerClient;
  /** Milliseconds since the epoch; moves only when a test sets it. */
  now: number;
  answer: (form: URLSearchParams) => TokenAnswer;
  /** The tokens that were revalidated. */
  readonly revalidated: string[];
  revalidate: (token: PresentedToken) => Promise<void>;
  readonly lookups: string[];
  /** The exchange of a route. All of them share one cache. */
  route(otherwise?: Partial<TokenExchange>): CredentialSource;
  create(token: UpstreamToken): CredentialSource;
  /** The forms that reached the token endpoint. */
  calls(): readonly URLSearchParams[];
  close(): Promise<void>;
}

/** The configuration of a plain exchange. */
export function exchangeWith(otherwise: Partial<TokenExchange> = {}): TokenExchange {
  return {
    server: serverOf({ url: 'https://as.example' }),
    endpoint: undefined,
    credentials: { clientId: 'gateway', clientSecret: 'secret', clientAuth: 'client_secret_basic' },
    subjectTokenType: 'access_token',
    requestedTokenType: 'access_token',
    actor: 'none',
    grant: 'token_exchange',
    audience: ['https://api.example'],
    resource: [],
    scope: ['read', 'list'],
    ...otherwise,
  };
}

/** A successful answer, RFC 8693 §2.2.1. */
export function issued(accessToken: string, otherwise: Record<string, unknown> = {}): TokenAnswer {
  return {
    body: {
      access_token: accessToken,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 60,
      ...otherwise,
    },
  };
}

/** Starts it. By default the token endpoint exchanges the token `x` for `for-x`. */
export async function startTokenEndpointWorld(): Promise<TokenEndpointWorld> {
  const issuer = await startIssuer();
  let now = Date.now();
  const clock = (): number => now;
  const client = createServerClient(serverOf(issuer), () => {}, clock);
  const lookups: string[] = [];
  const exchanges = createCredentialSources((kind, result) => lookups.push(`${kind} ${result}`), clock);
  const world: TokenEndpointWorld = {
    issuer,
    client,
    get now() {
      return now;
    },
    set now(moment) {
      now = moment;
    },
    lookups,
    answer: (form) => issued(`for-${form.get('subject_token')}`),
    revalidated: [],
    revalidate: async () => {},
    route: (otherwise) =>
      world.create({ kind: 'exchange', exchange: exchangeWith({ server: client.server, ...otherwise }) }),
    create: (token) =>
      exchanges({ upstream: { token } } as Route, {
        clients: new Map([['main', client]]),
        revalidate: async (presented) => {
          world.revalidated.push(presented.value);
          return world.revalidate(presented);
        },
      }),
    calls: () => issuer.requests.filter(({ path }) => path === '/token').map(({ body }) => new URLSearchParams(body)),
    async close() {
      client.close();
      await issuer.close();
    },
  };
  issuer.intercept = (request, response, body) => {
    if (request.url !== '/token') return false;
    const { status = 200, body: value } = world.answer(new URLSearchParams(body));
    response.writeHead(status).end(typeof value === 'string' ? value : JSON.stringify(value));
    return true;
  };
  return world;
}

/** A grant for the caller of a token, by a plan of the policy if the route has one. */
export function grantFor(principal: Partial<Principal>, plan?: Plan): Grant {
  return {
    principal: { issuer: 'https://as.example', grantedScopes: [], claims: {}, expiresAt: undefined, ...principal },
    decision: { allow: true, rule: '', plan },
  } as Grant;
}

/** The credential that the upstream of one call gets. */
export async function credentialOf(
  exchange: CredentialSource,
  token: string,
  principal: Partial<Principal> = { issuer: 'https://as.example' },
  plan?: Plan,
): Promise<unknown> {
  return exchange.credential(grantFor(principal, plan), bearer(token));
}
