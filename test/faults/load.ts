import { calm, isRight, type Ended, type Excuses } from './judge.ts';
import type { Kind } from './kinds.ts';

/** Calls of every kind, all kinds at once. */
export interface Load {
  readonly ended: Ended[];
  /** What a call is excused that is under way now, or begins from now on. */
  excuse(excuses: Excuses): void;
  /** Begins a call of each kind. Resolves when the first of them has ended, and the others are on their way. */
  begin(): Promise<unknown>;
  /** Makes a call of each kind. Resolves when all have ended; or, where some are held, after a while. */
  round(): Promise<unknown>;
  /**
   * Resolves when nothing is under way any more and each kind has had a right answer, and excuses nothing from then on.
   * Calls `between` before those that had another one are made again.
   */
  recovery(between: () => void): Promise<void>;
  /** Waits for the end of what is under way. */
  over(): Promise<unknown>;
}

/** How long a fault lasts by which calls are held. */
const HELD_MS = 1_000;
const PAUSE_MS = 50;
const RECOVERY_MS = 120_000;

/** Creates it. */
export function createLoad(kinds: readonly Kind[]): Load {
  const ended: Ended[] = [];
  const underWay = new Set<Promise<Ended>>();
  let excuses = calm;

  async function once(kind: Kind): Promise<Ended> {
    const excusesThen = excuses;
    const seen = await kind.send();
    const last = { kind, seen, excuses: excusesThen === calm ? excuses : excusesThen };
    ended.push(last);
    return last;
  }

  function begin(some: readonly Kind[]): readonly Promise<Ended>[] {
    return some.map((kind) => {
      const call = once(kind).finally(() => underWay.delete(call));
      underWay.add(call);
      return call;
    });
  }

  const over = (): Promise<unknown> => Promise.all(underWay);
  return {
    ended,
    excuse(now) {
      excuses = now;
    },
    begin: () => Promise.race(begin(kinds)),
    round() {
      const all = Promise.all(begin(kinds));
      return excuses.held === true ? Promise.race([all, pause(HELD_MS)]) : all;
    },
    async recovery(between) {
      await over();
      const until = performance.now() + RECOVERY_MS;
      for (let left = kinds; ;) {
        const calls = await Promise.all(begin(left));
        left = calls.filter(({ kind, seen }) => !isRight(kind, seen)).map(({ kind }) => kind);
        if (left.length === 0) break;
        if (performance.now() > until) throw new Error(`not served again: ${left.map(({ name }) => name).join(', ')}`);
        await pause(PAUSE_MS);
        between();
      }
      excuses = calm;
    },
    over,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
