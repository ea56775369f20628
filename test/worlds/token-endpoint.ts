import type { SettingsOf, UpstreamKeys } from '../../schema/validators.js';
import { createServerClient } from '../../src/tokens/servers/client.ts';
import { createCredentialSources } from '../../src/capabilities/exchange/credential-source.ts';
import type { TokenExchange, UpstreamToken } from '../../src/capabilities/exchange/slot.ts';
import type { CredentialSource } from '../../src/core/model/gate.ts';
import type { Grant, PresentedToken } from '../../src/core/model/grant.ts';
import type { Principal } from '../../src/core/model/principal.ts';
import type { Plan } from '../../src/core/model/policy.ts';
import { bearer } from '../support/bearer.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { openedConfig } from '../support/opened-config.ts';
import { serverOf } from '../support/server.ts';

/** An answer of the token endpoint. */
export interface TokenAnswer {
  readonly status?: number;
  readonly body: unknown;
}

const { root } = openedConfig(
  'routes: [{ upstream: { exchange: { audience: https://api.example, scope: [read, list] } } }]',
);
const settings = root.get('routes').items()[0]?.get('upstream').get('exchange').settings() as SettingsOf<
  UpstreamKeys['exchange']
>;

/** The configuration of a plain exchange. */
export function exchangeWith(otherwise: Partial<TokenExchange> = {}): TokenExchange {
  return {
    ...settings,
    server: serverOf({ url: 'https://as.example' }),
    credentials: { clientId: 'gateway', clientSecret: 'secret', clientAuth: 'client_secret_basic' },
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

/** A token endpoint whose answers the test sets, and exchanges that call it and share one cache. */
export class TokenEndpointWorld {
  /** Milliseconds since the epoch; moves only when a test sets it. */
  now = Date.now();
  /** Default: exchanges the token `x` for `for-x`. */
  answer = (form: URLSearchParams): TokenAnswer => issued(`for-${form.get('subject_token')}`);
  /** The tokens that were revalidated. */
  readonly revalidated: string[] = [];
  revalidate: (token: PresentedToken) => Promise<void> = async () => {};
  readonly lookups: string[] = [];
  readonly issuer: Issuer;
  readonly client;
  readonly #sourceOf;

  constructor(issuer: Issuer) {
    const clock = (): number => this.now;
    this.issuer = issuer;
    this.client = createServerClient(serverOf(issuer), () => {}, clock);
    this.#sourceOf = createCredentialSources((kind, result) => this.lookups.push(`${kind} ${result}`), clock);
    issuer.answerAt('/token', (_request, response, body) => {
      const { status = 200, body: value } = this.answer(new URLSearchParams(body));
      response.writeHead(status).end(typeof value === 'string' ? value : JSON.stringify(value));
    });
  }

  /** Lets the token endpoint refuse with an error code. */
  refuseWith(error: unknown): void {
    this.answer = () => ({ status: 400, body: { error } });
  }

  /** The exchange of a route. */
  route(otherwise: Partial<TokenExchange> = {}): CredentialSource {
    return this.create({ kind: 'exchange', exchange: exchangeWith({ server: this.client.server, ...otherwise }) });
  }

  create(token: UpstreamToken, { sourceOf = this.#sourceOf, client = this.client } = {}): CredentialSource {
    return sourceOf(token, {
      clients: new Map([['main', client]]),
      revalidate: async (presented) => {
        this.revalidated.push(presented.value);
        return this.revalidate(presented);
      },
    });
  }

  /** The forms that reached the token endpoint. */
  calls(): readonly URLSearchParams[] {
    return this.issuer.requestsTo('/token').map(({ body }) => new URLSearchParams(body));
  }

  close(): Promise<void> {
    this.client.close();
    return this.issuer.close();
  }
}

/** Starts it. */
export async function startTokenEndpointWorld(): Promise<TokenEndpointWorld> {
  return new TokenEndpointWorld(await startIssuer());
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
  principal: Partial<Principal> = {},
  plan?: Plan,
): Promise<unknown> {
  return exchange.obtain(grantFor(principal, plan), bearer(token));
}
