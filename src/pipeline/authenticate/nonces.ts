import { createHmac } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';

/**
 * Nonces for DPoP proofs, RFC 9449 §9. They are unpredictable, so that a stolen or borrowed signing key cannot make
 * proofs in advance. Any caller can use a nonce any number of times; the replay cache ensures that a proof is used
 * once. Nothing is stored, and replicas with the same key accept each other's nonces.
 */
export interface Nonces {
  /** The current nonce, for `DPoP-Nonce`. */
  readonly current: () => string;
  accepts(nonce: string): boolean;
}

/** How long a nonce is the current one. It is accepted twice as long. */
const WINDOW_MS = 120_000;
/** The length of a nonce: 128 bits. */
const BYTES = 16;

/** Creates nonces from `key`, which must be secret. */
export function createNonces(key: string | Buffer, clock: Clock): Nonces {
  let newest: { readonly window: number; readonly nonce: string; readonly before: string } | undefined;

  /** Computed once for each window. */
  function now(): NonNullable<typeof newest> {
    const window = Math.floor(clock() / WINDOW_MS);
    if (newest?.window === window) return newest;
    newest = { window, nonce: nonceOf(window), before: nonceOf(window - 1) };
    return newest;
  }

  function nonceOf(window: number): string {
    // The same key binds handles (OwnerBound), whose texts begin with a digit. The prefix separates the two uses.
    return createHmac('sha256', key).update(`dpop-nonce:${window}`).digest().subarray(0, BYTES).toString('base64url');
  }

  return {
    current: () => now().nonce,
    // Nonces are not secret: every caller gets the current one.
    accepts: (nonce) => nonce === now().nonce || nonce === now().before,
  };
}
