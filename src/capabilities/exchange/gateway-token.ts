import type { Clock } from '../../core/lib/clock.ts';
import type { AuthorizationServerClient } from '../../ports/authorization-server-client.ts';
import { Denial } from '../../core/model/denial.ts';
import type { CredentialSource } from '../../core/model/gate.ts';
import type { CountLookup } from '../../core/model/events.ts';
import type { CallerGrant } from '../../core/model/grant.ts';
import type { SharedAnswers } from '../../ports/shared.ts';
import { AnswerCache, type AnswerSource } from '../../tokens/answer-cache.ts';
import { keptUntil, requestOwnToken } from './issued-token.ts';
import { cacheKey, foreignCredential, purposeOf } from './credential.ts';
import { reasons } from './reasons.ts';
import type { GatewayGrant } from './slot.ts';
import { isCredential, type KeptCredential, type NewCredential } from './token-exchange.ts';

/** The part of its life after which a token is renewed while calls go on with it. */
const FRESH = 0.75;
/** How long a token without a stated end is used, unless the upstream refuses it. */
const UNSTATED_MS = 5 * 60_000;
/** The cool-down after the server gave none. */
const COOLDOWN_MS = 5_000;
/** Bounds memory. No configuration names this number of grants. */
const MAX_TOKENS = 1_000;

type GatewayToken = KeptCredential & Pick<NewCredential, 'expiresAt'>;

/** Tokens that the gateway gets for itself, RFC 6749 §4.4: one for each grant, the same for all callers. */
export class GatewayTokens {
  readonly #clock: Clock;
  readonly #count: CountLookup;
  readonly #cache: AnswerCache<GatewayToken>;
  /** The last value of each grant that the upstream refused; no other request is made for it. */
  readonly #refused = new Map<string, string>();
  /** Until when a grant whose renewal failed is not renewed again, in ms since the epoch. */
  readonly #renewedAfter = new Map<string, number>();

  constructor(clock: Clock, count: CountLookup, answers: SharedAnswers | undefined) {
    this.#clock = clock;
    this.#count = count;
    const store = answers && ({ answers, kind: 'exchange' } as const);
    this.#cache = new AnswerCache({ clock, max: MAX_TOKENS, store });
  }

  /** The credential of a route. */
  source(grant: GatewayGrant, client: AuthorizationServerClient): CredentialSource {
    const key = cacheKey(purposeOf(grant), '', grant.server.issuer);
    const source = this.#source(key, () => requestToken(grant, client, this.#clock));
    const sent = new WeakMap<CallerGrant, string>();
    return {
      span: 'exchange',
      obtain: (call, token) => {
        const give = ({ value }: GatewayToken) => {
          sent.set(call, value);
          return foreignCredential(value, token);
        };
        const known = this.#cache.get(key);
        const refusal = known === undefined ? this.#cache.refusal(key) : undefined;
        if (refusal !== undefined) throw refusal;
        this.#count('exchange', known === undefined ? 'miss' : 'hit');
        if (known === undefined) return this.#cache.obtain(key, source).then(give);
        this.#renewAging(key, known, source);
        return give(known);
      },
      onUnauthorized: (call) => this.#refuse(key, sent.get(call)),
    };
  }

  #source(key: string, request: () => Promise<NewCredential>): AnswerSource<GatewayToken> {
    return {
      async ask() {
        const { credential, expiresAt } = await request();
        return { value: { ...credential, expiresAt }, expiresAt, shared: credential };
      },
      // What another replica has, if it is newer than ours and not the token that was refused.
      read: (shared, expiresAt) => {
        if (!isCredential(shared) || shared.value === this.#refused.get(key)) return undefined;
        if (shared.obtainedAt <= (this.#cache.get(key)?.obtainedAt ?? -1)) return undefined;
        return { value: { ...shared, expiresAt }, expiresAt };
      },
      refusalMs: ({ refusal }) => (refusal.status === 503 ? 0 : COOLDOWN_MS),
    };
  }

  #renewAging(key: string, { obtainedAt, expiresAt }: GatewayToken, source: AnswerSource<GatewayToken>): void {
    const now = this.#clock();
    const isFresh = now < obtainedAt + FRESH * (expiresAt - obtainedAt);
    if (isFresh || now < (this.#renewedAfter.get(key) ?? 0)) return;
    this.#cache.renew(key, source).catch(() => this.#renewedAfter.set(key, this.#clock() + COOLDOWN_MS));
  }

  /** The upstream refused a credential: the next call gets another one, by at most one request. */
  #refuse(key: string, value: string | undefined): void {
    if (value === undefined || this.#cache.get(key)?.value !== value || this.#refused.get(key) === value) return;
    this.#refused.set(key, value);
    this.#cache.evict(key);
  }
}

/**
 * Asks for a token, RFC 6749 §4.4.2.
 *
 * @throws {Denial} `exchange.*`, `authorization_server.unavailable`.
 */
export async function requestToken(
  grant: GatewayGrant,
  client: AuthorizationServerClient,
  clock: Clock,
): Promise<NewCredential> {
  const issued = await requestOwnToken(grant, client, {
    clock,
    parameters: [
      ...grant.audience.map((each): [string, string] => ['audience', each]),
      ...grant.resource.map((each): [string, string] => ['resource', each]),
      ...(grant.scope.length > 0 ? [['scope', grant.scope.join(' ')] satisfies [string, string]] : []),
    ],
    refusal(status, error) {
      const reason = error === 'invalid_scope' ? 'exchange.scope' : 'exchange.refused';
      return new Denial(reasons[reason], `the gateway's own token was refused with ${status} ${error}`);
    },
  });
  const missing = grant.scope.filter((scope) => issued.scope?.includes(scope) === false);
  if (missing.length > 0) throw new Denial(reasons['exchange.scope'], `the server granted no "${missing.join(' ')}"`);
  const { askedAt } = issued;
  return {
    credential: { value: `Bearer ${issued.accessToken}`, obtainedAt: askedAt },
    expiresAt: issued.expiresAt === undefined ? askedAt + UNSTATED_MS : keptUntil(issued, askedAt),
  };
}
