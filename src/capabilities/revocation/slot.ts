import { Slot } from '../../core/model/slot.ts';
import type { RevocationSettings } from './sources.ts';

/** `revocation`; undefined: no token ends before it expires, but by its server. */
export const revocationSettings = new Slot<RevocationSettings>();
