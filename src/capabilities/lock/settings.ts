import { Slot } from '../../core/model/gate.ts';
import type { Lock } from '../../core/model/definitions.ts';

/** The lock of a route, that of its policy. */
export const lockOf = new Slot<Lock>();
