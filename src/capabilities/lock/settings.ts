import type { Definitions } from '../../mcp/definitions.ts';
import { Slot } from '../../core/model/slot.ts';

/** The lock of a policy. */
export interface Lock {
  /** `deny`: what differs is hidden and refused. `report`: it is only logged and counted. */
  readonly mode: 'deny' | 'report';
  readonly approved: Definitions;
}

/** The lock of a route, that of its policy. */
export const lockOf = new Slot<Lock>();
