import type { Definitions } from '../../mcp/definitions.ts';
import { Slot } from '../../core/model/slot.ts';

/** The lock of a policy. */
export interface Lock {
  /** `deny`: what differs is hidden and refused. `report`: it is only logged and counted. */
  readonly mode: 'deny' | 'report';
  readonly approved: Definitions;
  /** Whether calls must be valid by the schemas of the approved tools, `calls: strict`. */
  readonly isStrict?: boolean;
}

/** The lock of a route, that of its policy. */
export const lockOf = new Slot<Lock>();
