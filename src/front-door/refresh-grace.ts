/**
 * `clients.refresh.grace`: a client that lost the answer to a refresh, or refreshes twice at the same time, may present
 * the used refresh token again. The id of a token that takes the place of another is derived from it, so that all
 * replicas know it, and none keeps it.
 *
 * @module
 */

import { calculateJwkThumbprint, decodeProtectedHeader } from 'jose';
import { type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Clock } from '../core/lib/clock.ts';
import { digestOf } from '../core/lib/digest.ts';
import { isObject, ownMember } from '../core/lib/json/own-member.ts';
import type { Store } from './store.ts';
import { successorOf } from './token-ids.ts';

/** The parts of the grace. */
export interface RefreshGraceParts {
  readonly store: Store;
  readonly clock: Clock;
  /** How long a used refresh token may be presented again. */
  readonly graceMs: number;
  /** The key of the ids of refresh tokens. */
  readonly tokenKey: string;
}

/** The use of a refresh token by a token request. */
interface Use {
  /** The token as it was presented. */
  readonly id: string;
  readonly payload: AdapterPayload;
  /** Whether another request has used it, or this one has. */
  by: 'another' | 'this' | undefined;
}

/** A token that a parallel request has just used. */
export class UsedMeanwhile extends Error {}

/** More renewals of a chain within the grace than any client makes. */
const MAX_SUCCESSORS = 100;

/** Refresh tokens that were used a short time ago. */
export class RefreshGrace {
  readonly #parts: RefreshGraceParts;
  readonly #uses = new WeakMap<object, Use>();

  constructor(parts: RefreshGraceParts) {
    this.#parts = parts;
  }

  /** Notes the token that a token request presents. @param by `another`: it was used before. */
  note(id: string, payload: AdapterPayload, by?: 'another'): void {
    if (Provider.ctx !== undefined) this.#uses.set(Provider.ctx, { id, payload, by });
  }

  /** Whether the client and the key of the token request under way are those of a used token. */
  async isOwner({ clientId, jkt }: AdapterPayload): Promise<boolean> {
    const { ctx } = Provider;
    if (ctx?.oidc.client?.clientId !== clientId) return false;
    return jkt === undefined || (await thumbprintOf(ctx?.get('DPoP') ?? '')) === jkt;
  }

  /** Whether the token request under way has used this token itself. */
  hasUsed(id: string): boolean {
    const use = Provider.ctx && this.#uses.get(Provider.ctx);
    return use?.by === 'this' && use.id === id;
  }

  /**
   * Uses the token of a token request up, once over all replicas. What is kept of it comes first: a request at the same
   * time finds the token either live or used.
   *
   * @param consume Rejects with {@link UsedMeanwhile} if another request was faster.
   * @returns whether a new one takes its place.
   */
  async rotate(ctx: KoaContextWithOIDC, consume: (id: string) => Promise<void>): Promise<boolean> {
    const { store, clock, graceMs } = this.#parts;
    const use = this.#uses.get(ctx);
    if (use === undefined || use.by === 'another') return false;
    const { id, payload } = use;
    const record = { kind: 'UsedRefreshToken', id: digestOf(id), value: payload } as const;
    await store.set({ ...record, expiresAt: clock() + graceMs, owner: payload.accountId });
    try {
      await consume(id);
      use.by = 'this';
    } catch (error) {
      if (!(error instanceof UsedMeanwhile)) throw error;
      use.by = 'another';
    }
    return use.by === 'this';
  }

  /** The id of the token that takes the place of the one of the request under way; undefined where none does. */
  nextId(): string | undefined {
    const use = Provider.ctx && this.#uses.get(Provider.ctx);
    return use?.by === 'this' ? successorOf(use.id, this.#parts.tokenKey) : undefined;
  }

  /** Puts the current refresh token in the place of a used one into an answer. */
  async answer(ctx: { body?: unknown }): Promise<void> {
    const use = this.#uses.get(ctx);
    if (use?.by !== 'another' || !isObject(ctx.body) || ownMember(ctx.body, 'refresh_token') === undefined) return;
    ctx.body = { ...ctx.body, refresh_token: await this.#currentOf(use.id) };
  }

  async #currentOf(id: string): Promise<string> {
    const { store, tokenKey } = this.#parts;
    let current = successorOf(id, tokenKey);
    for (let left = MAX_SUCCESSORS; left > 0; left -= 1) {
      if ((await store.get('UsedRefreshToken', digestOf(current))) === undefined) break;
      current = successorOf(current, tokenKey);
    }
    return current;
  }
}

/** The thumbprint of the key of a proof, which oidc-provider has verified; undefined without one. */
async function thumbprintOf(proof: string): Promise<string | undefined> {
  if (proof === '') return undefined;
  const { jwk } = decodeProtectedHeader(proof);
  return jwk && calculateJwkThumbprint(jwk);
}
