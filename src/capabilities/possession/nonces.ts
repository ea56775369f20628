import { createHmac } from 'node:crypto';
import type { Clock } from '../../core/lib/clock.ts';

/** How long a nonce is the current one. It is accepted twice as long. */
const WINDOW_MS = 120_000;
/** The length of a nonce: 128 bits. */
const BYTES = 16;

/**
 * Nonces for DPoP proofs, RFC 9449 §9. They are unpredictable, so that a stolen or borrowed signing key cannot make
 * proofs in advance. Any caller can use a nonce any number of times; the replay cache ensures that a proof is used
 * once. Nothing is stored, and replicas with the same key accept each other's nonces.
 */
export class Nonces {
  readonly #key: string | Buffer;
  readonly #clock: Clock;
  /** Computed once for each window. */
  #newest: { readonly window: number; readonly nonce: string; readonly before: string } | undefined;

  /** @param key Must be secret. */
  constructor(key: string | Buffer, clock: Clock) {
    this.#key = key;
    this.#clock = clock;
  }

  /** The current nonce, for `DPoP-Nonce`. Not secret: every caller gets it. */
  readonly current = (): string => this.#now().nonce;

  accepts(nonce: string): boolean {
    const now = this.#now();
    return nonce === now.nonce || nonce === now.before;
  }

  #now(): { readonly nonce: string; readonly before: string } {
    const window = Math.floor(this.#clock() / WINDOW_MS);
    if (this.#newest?.window !== window)
      this.#newest = { window, nonce: this.#nonceOf(window), before: this.#nonceOf(window - 1) };
    return this.#newest;
  }

  #nonceOf(window: number): string {
    // The same key binds handles (OwnerBound), whose texts begin with a digit. The prefix separates the two uses.
    const mac = createHmac('sha256', this.#key).update(`dpop-nonce:${window}`).digest();
    return mac.subarray(0, BYTES).toString('base64url');
  }
}
