import type { Settlement } from '../../core/model/history.ts';
import {
  type Failed,
  type Ledger,
  type LedgerBounds,
  ledgerBounds,
  type Reservation,
  type LedgerVerdict,
} from '../../policy-parts/history/ledger.ts';
import { createScript, type SharedStore, storeDenial } from '../../ports/store.ts';
import { ledgerScripts } from './ledger-scripts.ts';

/** The most settlements that wait for the store: one question sends all of them, within the time of a command. */
const MAX_UNSETTLED = 1_000;

interface SharedLedgerParts extends Pick<SharedStore, 'connection' | 'sealing' | 'onFailure'> {
  /** Counts alone while the store is away, if `onFailure` is `open`. */
  readonly local: Ledger;
  readonly bounds?: LedgerBounds;
  /** Tests replace the clock in them. */
  readonly scripts?: typeof ledgerScripts;
}

type Reply = readonly [passed: number] | readonly [passed: number, why: string, first: number, second?: number];

/**
 * Creates the ledger that replicas share, by the clock of the store. Tracks, callers and ids are keyed digests there;
 * amounts and times are readable.
 *
 * With `on_store_failure: open`, calls are counted in `local` too: while the store is away, each replica judges by what
 * it counted itself.
 */
export function createSharedLedger({
  connection,
  sealing,
  local,
  onFailure,
  bounds = ledgerBounds,
  scripts = ledgerScripts,
}: SharedLedgerParts): Ledger {
  /** The calls that are counted on a route lie in one slot of a cluster. */
  const slotOf = (route: string): string => sealing.slot('history', route);
  const allOf = (slot: string): string => sealing.place(`${slot}:all`, '');
  const callOf = (slot: string, id: string): string => sealing.place(`${slot}:call`, id);
  const run = {
    reserve: createScript(connection, 'history', scripts.reserve),
    settle: createScript(connection, 'history', scripts.settle),
  };
  /** The settlements that the store could not take, by the place of the call. */
  const unsettled = new Map<string, { readonly all: string; readonly outcome: Settlement }>();

  async function tell(all: string, call: string, outcome: Settlement): Promise<void> {
    try {
      await run.settle([all, call], [outcome]);
    } catch {
      // A store that refuses the command would do so again. The call then counts as in progress.
      if (!isAvailable() && unsettled.size < MAX_UNSETTLED) unsettled.set(call, { all, outcome });
    }
  }

  async function tellLate(): Promise<void> {
    const late = [...unsettled];
    unsettled.clear();
    await Promise.all(late.map(async ([call, { all, outcome }]) => tell(all, call, outcome)));
  }

  function isAvailable(): boolean {
    return connection.state().state === 'available';
  }

  async function ask(reservation: Reservation): Promise<LedgerVerdict> {
    if (unsettled.size > 0 && isAvailable()) await tellLate();
    const { id, route, owner, checks, entries, isShadow, continues } = reservation;
    const tracks = [...new Set([...checks, ...entries].map(({ track }) => track))];
    const slot = slotOf(route);
    const call = callOf(slot, id);
    const keys = [
      sealing.place(`${slot}:owner`, owner),
      call,
      continues === undefined ? call : callOf(slot, continues),
      ...tracks.map((track) => sealing.place(`${slot}:track`, track)),
    ];
    const numbered = <Part extends { readonly track: string }>(part: Part) => ({
      ...part,
      track: tracks.indexOf(part.track) + 1,
    });
    const wanted = { checks: checks.map(numbered), entries: entries.map(numbered), isShadow, ...bounds };
    return verdictOf((await run.reserve([allOf(slot), ...keys], [JSON.stringify(wanted)])) as Reply);
  }

  async function reserve(reservation: Reservation): Promise<LedgerVerdict> {
    let verdict: LedgerVerdict;
    try {
      verdict = await ask(reservation);
    } catch (error) {
      if (onFailure === 'open') return local.reserve(reservation);
      throw storeDenial(error);
    }
    if (verdict.passed && onFailure === 'open') await local.reserve({ ...reservation, isShadow: true });
    return verdict;
  }

  async function settle(id: string, outcome: Settlement, route: string): Promise<void> {
    if (onFailure === 'open') await local.settle(id, outcome, route);
    const slot = slotOf(route);
    await tell(allOf(slot), callOf(slot, id), outcome);
  }

  return { reserve, settle };
}

function verdictOf([passed, why, first = 0, second = 0]: Reply): LedgerVerdict {
  const failed = why === undefined ? undefined : failedOf(why, first, second);
  if (passed === 1) return { passed: true, failed };
  if (failed === undefined) throw new TypeError('the store refused without a reason');
  return { passed: false, failed };
}

function failedOf(why: string, first: number, second: number): Failed {
  if (why === 'check') return { why, check: first, retryAfterMs: second };
  return { why: 'full', detail: `${first} entries ${why === 'owner' ? 'of this caller ' : ''}are kept` };
}
