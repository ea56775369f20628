import { Slot } from '../../core/model/slot.ts';
import type { Statement } from '../../core/model/route.ts';

/** A short-lived JWT that proves the caller's identity to the upstream. */
export interface SignedIdentity extends Statement {
  /** `aud`. */
  readonly audience: string;
}

/** The statement that an upstream gets; undefined: none. */
export const signedIdentity = new Slot<SignedIdentity>();
