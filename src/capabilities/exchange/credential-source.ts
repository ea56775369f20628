import type { Clock } from '../../core/lib/clock.ts';
import type { AuthorizationServerClient } from '../../ports/authorization-server-client.ts';
import { Denial } from '../../core/model/denial.ts';
import type { CountLookup } from '../../core/model/events.ts';
import type { CredentialSource } from '../../core/model/gate.ts';
import type { CallerGrant, PresentedToken, UpstreamCredential } from '../../core/model/grant.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { SharedAnswers } from '../../ports/shared.ts';
import { AnswerCache, type AnswerSource } from '../../tokens/answer-cache.ts';
import { cacheKey, foreignCredential, purposeOf } from './credential.ts';
import { GatewayTokens } from './gateway-token.ts';
import type { TokenExchange, UpstreamToken } from './slot.ts';
import { createOwnTokens, type OwnTokens } from './issued-token.ts';
import {
  createTokenExchange,
  type ExchangeParts,
  isCredential,
  type KeptCredential,
  withNeededScopes,
} from './token-exchange.ts';
import { reasons } from './reasons.ts';

/** Bounds memory; a full cache evicts the least recently used entry. */
const MAX_CREDENTIALS = 20_000;
/** The cool-down before a refused exchange is retried, and before a credential that an upstream refused is replaced. */
const COOLDOWN_MS = 5_000;

/** A credential for an upstream, and the caller whose token it was exchanged for. */
type ExchangedCredential = KeptCredential & { readonly caller: Principal };

interface SourceParts {
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
  readonly revalidate: ExchangeParts['revalidate'];
}

/** Creates the credential source of a route under a configuration. */
export interface CredentialSources {
  (wanted: UpstreamToken, parts: SourceParts): CredentialSource;
  /** Drops the exchanged credentials of these callers: what they were made from has changed. */
  drop(isMeant: (caller: Principal) => boolean): void;
}

/** Creates the credential sources of a process. Exchanged credentials outlive a configuration. */
export function createCredentialSources(count: CountLookup, clock: Clock, answers?: SharedAnswers): CredentialSources {
  const store = answers && ({ answers, kind: 'exchange' } as const);
  const memory = new AnswerCache<ExchangedCredential>({ clock, max: MAX_CREDENTIALS, store });
  const ownTokens = createOwnTokens(clock);
  const gatewayTokens = new GatewayTokens(clock, count, answers);

  const sources = (wanted: UpstreamToken, parts: SourceParts): CredentialSource => {
    if (wanted.kind === 'client_credentials')
      return gatewayTokens.source(wanted.grant, requiredClient(wanted.grant, parts));
    if (wanted.kind === 'exchange') return exchangeSource(wanted.exchange, parts, { memory, ownTokens, count, clock });
    return {
      obtain: (grant, token) =>
        foreignCredential(`Bearer ${requiredPhantom(requiredPrincipal(grant))}`, requiredToken(token)),
    };
  };
  return Object.assign(sources, {
    drop: (isMeant: (caller: Principal) => boolean) => void memory.drop(({ caller }) => isMeant(caller)),
  });
}

interface ProcessParts {
  readonly memory: AnswerCache<ExchangedCredential>;
  readonly ownTokens: OwnTokens;
  readonly count: CountLookup;
  readonly clock: Clock;
}

/** RFC 8693: exchanges the client's token for one that only the upstream accepts. */
function exchangeSource(
  exchange: TokenExchange,
  { clients, revalidate }: SourceParts,
  { memory, ownTokens, count, clock }: ProcessParts,
): CredentialSource {
  const client = requiredClient(exchange, { clients });
  const actor = exchange.actor === 'none' ? undefined : ownTokens(exchange, client);
  const ask = createTokenExchange(exchange, { client, actor, revalidate, clock });
  const purpose = purposeOf(exchange);
  const keys = new WeakMap<CallerGrant, string>();

  return {
    obtain(grant, token) {
      const principal = requiredPrincipal(grant);
      const presented = requiredToken(token);
      const key = cacheKey(purpose, presented.value, principal.issuer);
      keys.set(grant, key);
      const known = memory.get(key);
      count('exchange', known === undefined ? 'miss' : 'hit');
      return known === undefined ? obtain(key, grant, presented, principal) : foreignCredential(known.value, presented);
    },
    onUnauthorized(grant) {
      const key = keys.get(grant) ?? '';
      const refused = memory.get(key);
      if (refused !== undefined && clock() - refused.obtainedAt >= COOLDOWN_MS) memory.delete(key);
    },
  };

  async function obtain(
    key: string,
    grant: CallerGrant,
    token: PresentedToken,
    principal: Principal,
  ): Promise<UpstreamCredential> {
    try {
      const { value } = await memory.obtain(key, source(token, principal));
      return foreignCredential(value, token);
    } catch (error) {
      // All waiting callers share the outcome, but each operation may need other scopes as well.
      if (!(error instanceof Denial && error.refusal === reasons['exchange.insufficient_scope'])) throw error;
      throw withNeededScopes(error, exchange, grant);
    }
  }

  function source(token: PresentedToken, caller: Principal): AnswerSource<ExchangedCredential> {
    return {
      async ask() {
        const { credential, expiresAt } = await ask(token, caller);
        return { value: { ...credential, caller }, expiresAt, shared: credential };
      },
      read: (shared, expiresAt) => (isCredential(shared) ? { value: { ...shared, caller }, expiresAt } : undefined),
      refusalMs: ({ refusal }) => (refusal.status === 503 ? 0 : COOLDOWN_MS),
    };
  }
}

function requiredClient(
  { server }: Pick<TokenExchange, 'server'>,
  { clients }: Pick<SourceParts, 'clients'>,
): AuthorizationServerClient {
  const client = clients.get(server.name);
  if (client === undefined) throw new TypeError(`no client for ${server.name}`);
  return client;
}

function requiredToken(token: PresentedToken | undefined): PresentedToken {
  if (token === undefined) throw new TypeError('a credential for the upstream needs the token of the caller');
  return token;
}

function requiredPrincipal({ principal }: CallerGrant): Principal {
  if (principal === undefined) throw new TypeError('a credential for the upstream needs a caller');
  return principal;
}

/** The configuration ensures a signed answer. Without one this is a bug: the client's own token is no substitute. */
function requiredPhantom(principal: Principal | undefined): string {
  if (principal?.introspectionJwt === undefined)
    throw new TypeError('a phantom token needs a signed introspection answer');
  return principal.introspectionJwt;
}
