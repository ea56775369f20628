import type { Reservation } from '../../../src/policy-parts/history/ledger.ts';

let number = 0;

/** A call of its own id, by alice; without checks and entries unless said otherwise. */
export function call(wanted: Partial<Reservation> = {}): Reservation {
  number += 1;
  return {
    id: `id-${number}`,
    route: 'main',
    owner: 'alice',
    checks: [],
    entries: [],
    isShadow: false,
    continues: undefined,
    ...wanted,
  };
}
