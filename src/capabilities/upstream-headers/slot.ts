import { Slot } from '../../core/model/slot.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { OwnFields } from '../../core/model/route.ts';

/** A header field whose value depends on a claim of the caller. */
export interface ChosenField {
  /** Its name as it is written. */
  readonly name: string;
  /** The claim, by name or JSON Pointer. */
  readonly claim: string;
  /** The value for callers without an entry; undefined: they are refused. */
  readonly fallback: string | undefined;
  /** The value for a caller; undefined: it has no entry, and there is no fallback. */
  readonly valueFor: (principal: Principal) => string | undefined;
}

/** `upstream.headers` of a route. */
export interface UpstreamHeaders extends OwnFields {
  /** Those that depend on the caller. */
  readonly chosen: readonly ChosenField[];
}

/** The header fields of the gateway itself for an upstream; undefined: none. */
export const upstreamHeaders = new Slot<UpstreamHeaders>();
