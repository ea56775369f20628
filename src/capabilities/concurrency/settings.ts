import type { UpstreamKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { Slot } from '../../core/model/slot.ts';

/** The bounds of one route, in each process. */
export interface Concurrency {
  /** How many calls the upstream has at most. */
  readonly calls: number;
  /** How many more may wait. */
  readonly queue: number;
  /** How long one may wait. */
  readonly waitMs: number;
}

/** The bounds of a route; undefined: none. */
export const concurrencyOf = new Slot<Concurrency>();

/** `upstream.concurrency` of a route. */
export function readConcurrency(field: Field<UpstreamKeys['concurrency']>): Concurrency | undefined {
  if (!field.present) return undefined;
  return {
    calls: field.get('calls').number() ?? 1,
    queue: field.get('queue').number(),
    waitMs: field.get('wait').duration(),
  };
}
