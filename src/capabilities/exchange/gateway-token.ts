import type { Clock } from '../../core/lib/clock.ts';
import { createSingleFlight } from '../../core/lib/single-flight.ts';
import type { AuthorizationServerClient } from '../../core/model/authorization-server-client.ts';
import { Denial } from '../../core/model/denial.ts';
import type { CredentialSource } from '../../core/model/gate.ts';
import type { CountLookup } from '../../core/model/events.ts';
import type { CallerGrant } from '../../core/model/grant.ts';
import type { SharedAnswers } from '../../core/model/shared.ts';
import { keptUntil, requestOwnToken } from './issued-token.ts';
import { cacheKey, foreignCredential, purposeOfGrant } from './credential.ts';
import { reasons } from './reasons.ts';
import type { GatewayGrant } from './settings.ts';
import { isCredential, type KeptCredential, type NewCredential } from './token-exchange.ts';

interface Entry {
  kept: NewCredential | undefined;
  /** The last value that the upstream refused; no other request is made for it. */
  refused: string | undefined;
  /** Why the server gave none, and until when it is not asked again. */
  failure: { readonly denial: Denial; readonly until: number } | undefined;
}

/** The part of its life after which a token is renewed while calls go on with it. */
const FRESH = 0.75;
/** How long a token without a stated end is used, unless the upstream refuses it. */
const UNSTATED_MS = 5 * 60_000;
/** The cool-down after a refusal of the server. */
const COOLDOWN_MS = 5_000;

/** Tokens that the gateway gets for itself, RFC 6749 §4.4: one for each grant, the same for all callers. */
export class GatewayTokens {
  readonly #entries = new Map<string, Entry>();
  readonly #flight = createSingleFlight<KeptCredential>();
  readonly #clock: Clock;
  readonly #count: CountLookup;
  readonly #answers: SharedAnswers | undefined;

  constructor(clock: Clock, count: CountLookup, answers: SharedAnswers | undefined) {
    this.#clock = clock;
    this.#count = count;
    this.#answers = answers;
  }

  /** The credential of a route. */
  source(grant: GatewayGrant, client: AuthorizationServerClient): CredentialSource {
    const key = cacheKey(purposeOfGrant(grant), '', grant.server.issuer);
    const ask = (): Promise<NewCredential> => requestToken(grant, client, this.#clock);
    const sent = new WeakMap<CallerGrant, string>();
    return {
      span: 'exchange',
      obtain: (call, token) => {
        const give = ({ value }: KeptCredential) => {
          sent.set(call, value);
          return foreignCredential(value, token);
        };
        const known = this.#known(key, ask);
        this.#count('exchange', known === undefined ? 'miss' : 'hit');
        return known === undefined ? this.#flight(key, () => this.#obtain(key, ask)).then(give) : give(known);
      },
      onUnauthorized: (call) => this.#refuse(key, sent.get(call)),
    };
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { kept: undefined, refused: undefined, failure: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #known(key: string, ask: () => Promise<NewCredential>): KeptCredential | undefined {
    const entry = this.#entry(key);
    const { kept, failure } = entry;
    const now = this.#clock();
    if (kept === undefined || now >= kept.expiresAt) {
      // As for exchanged tokens, an outage is not kept.
      const refusal = failure?.denial.refusal;
      if (failure === undefined || refusal?.status === 503 || now >= failure.until) return undefined;
      throw new Denial(failure.denial.refusal, failure.denial.detail);
    }
    const { credential, expiresAt } = kept;
    const isFresh = now < credential.obtainedAt + FRESH * (expiresAt - credential.obtainedAt);
    const mayAsk = failure === undefined || now >= failure.until;
    // A failure is kept with its cool-down: the next call after it tries again.
    if (!isFresh && mayAsk) this.#flight(key, () => this.#obtain(key, ask)).catch(() => {});
    return credential;
  }

  async #obtain(key: string, ask: () => Promise<NewCredential>): Promise<KeptCredential> {
    const entry = this.#entry(key);
    try {
      const made = (await this.#fromAnotherReplica(key, entry)) ?? (await ask());
      entry.kept = made;
      entry.failure = undefined;
      this.#answers?.set('exchange', key, made.credential, made.expiresAt);
      return made.credential;
    } catch (error) {
      if (error instanceof Denial) entry.failure = { denial: error, until: this.#clock() + COOLDOWN_MS };
      throw error;
    }
  }

  /** What another replica has, if it is newer than ours and not the token that was refused. */
  async #fromAnotherReplica(key: string, { kept, refused }: Entry): Promise<NewCredential | undefined> {
    const shared = await this.#answers?.get('exchange', key);
    if (shared === undefined || !isCredential(shared.answer)) return undefined;
    const { answer: credential, expiresAt } = shared;
    if (credential.value === refused || credential.obtainedAt <= (kept?.credential.obtainedAt ?? -1)) return undefined;
    return { credential, expiresAt };
  }

  /** The upstream refused a credential: the next call gets another one, by at most one request. */
  #refuse(key: string, value: string | undefined): void {
    const entry = this.#entry(key);
    if (value === undefined || entry.kept?.credential.value !== value || entry.refused === value) return;
    entry.refused = value;
    entry.kept = undefined;
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
