import { createHmac } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/**
 * Nonces for DPoP proofs, RFC 9449 §9, which nobody could know long before: a stolen signing key, or one lent for a
 * moment, makes no proofs for later. Each is good for everybody and any number of times; that a proof serves once
 * only is another check. Nothing is stored, and replicas with the same key accept each other's.
 */
export interface Nonces {
  /** The newest one, for `DPoP-Nonce`. */
  readonly current: () => string;
  accepts(nonce: string): boolean;
}

/** How long one is the newest. It is accepted twice as long. */
const WINDOW_MS = 120_000;
/** 128 bits. */
const BYTES = 16;

/** Creates nonces under `key`, which nobody else knows. */
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
    // The same key binds handles (OwnerBound), whose texts begin with a digit.
    return createHmac('sha256', key).update(`dpop-nonce:${window}`).digest().subarray(0, BYTES).toString('base64url');
  }

  return {
    current: () => now().nonce,
    // No secrets: any caller is told the newest.
    accepts: (nonce) => nonce === now().nonce || nonce === now().before,
  };
}
