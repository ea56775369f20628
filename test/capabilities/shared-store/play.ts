import type { Ledger, Reservation, LedgerVerdict } from '../../../src/policy-parts/history/ledger.ts';
import type { Step } from './random-calls.ts';

/** What the next round of a call leaves: usually what the call left. */
function roundAfter(
  before: Reservation,
  { repeats, owner, entries }: Extract<Step, { kind: 'reserve' }>,
): Pick<Reservation, 'owner' | 'entries'> {
  if (repeats === 'all') return before;
  if (repeats === 'entries') return { owner, entries: before.entries };
  if (repeats === 'nothing') return { owner, entries };
  const [first, ...others] = before.entries;
  if (first === undefined) return before;
  const changed =
    repeats === 'tracks' ? { ...first, track: `other ${first.track}` } : { ...first, amount: first.amount + 1 };
  return { owner: before.owner, entries: [changed, ...others] };
}

/** Plays steps on a ledger. Returns all verdicts, and what was reserved for each. */
export async function play(
  ledger: Ledger,
  steps: readonly Step[],
  wait: (ms: number) => void | Promise<void>,
): Promise<readonly LedgerVerdict[]> {
  const verdicts: LedgerVerdict[] = [];
  const reserved: Reservation[] = [];
  for (const step of steps) {
    if (step.kind === 'wait') await wait(step.seconds * 1000);
    else if (step.kind === 'settle') {
      const call = reserved.at(-1 - step.call);
      if (call !== undefined) await ledger.settle(call.id, step.outcome, 'main');
    } else {
      const before = step.continues === undefined ? undefined : reserved.at(-1 - step.continues);
      const { entries, owner } = before === undefined ? step : roundAfter(before, step);
      const { checks, isShadow } = step;
      const id = `call-${reserved.length}`;
      const reservation = { id, route: 'main', owner, checks, entries, isShadow, continues: before?.id };
      reserved.push(reservation);
      verdicts.push(await ledger.reserve(reservation));
    }
  }
  return verdicts;
}
