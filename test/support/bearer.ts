import type { AccessToken, PresentedToken } from '../../src/core/model/grant.ts';

/** A token as its client presented it, RFC 6750 §2.1. */
export function bearer(value: string): PresentedToken {
  return { scheme: 'bearer', value: value as AccessToken };
}

/** A token that a client presented with a proof beside it, RFC 9449 §7.1. */
export function withProof(value: string): PresentedToken {
  return { scheme: 'dpop', value: value as AccessToken };
}
