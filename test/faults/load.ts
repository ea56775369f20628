import type { Ended, Excuses } from './judge.ts';
import { calm, isRight } from './judge.ts';
import type { Kind } from './kinds.ts';

/** Calls of every kind, one after another of each and all kinds at once, until it is stopped. */
export interface Load {
  readonly ended: Ended[];
  /** What a call is excused that is under way now, or begins from now on. */
  excuse(excuses: Excuses): void;
  /** Resolves when a call of each kind has ended that began after this, or `ms` have passed. */
  round(ms: number): Promise<void>;
  /** Resolves when each kind has had a right answer again, and excuses nothing from then on. */
  recovery(): Promise<void>;
  /** Begins no more, and waits for the end of what is under way. */
  stop(): Promise<void>;
}

/** How much of the machine is left to others. */
const PAUSE_MS = 25;
const RECOVERY_MS = 60_000;

/** Starts it. */
export function startLoad(kinds: readonly Kind[]): Load {
  const ended: Ended[] = [];
  let excuses = calm;
  const over = new AbortController();
  const waiting = new Set<(last: Ended, began: number) => void>();

  async function repeat(kind: Kind): Promise<void> {
    while (!over.signal.aborted) {
      const [began, excusesThen] = [performance.now(), excuses];
      const seen = await kind.send();
      const last = { kind, seen, excuses: excusesThen === calm ? excuses : excusesThen };
      ended.push(last);
      for (const tell of waiting) tell(last, began);
      await pause(PAUSE_MS);
    }
  }
  const all = Promise.all(kinds.map(repeat));

  /** Until `counts` was true for a call of each kind that began after this. */
  function eachKind(ms: number, counts: (last: Ended) => boolean): Promise<readonly Kind[]> {
    const from = performance.now();
    const left = new Set(kinds);
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        waiting.delete(tell);
        resolve([...left]);
      };
      const timer = setTimeout(done, ms);
      const tell = (last: Ended, began: number): void => {
        if (began >= from && counts(last)) left.delete(last.kind);
        if (left.size === 0) done();
      };
      waiting.add(tell);
    });
  }

  return {
    ended,
    excuse(now) {
      excuses = now;
    },
    async round(ms) {
      await eachKind(ms, () => true);
    },
    async recovery() {
      const left = await eachKind(RECOVERY_MS, ({ kind, seen }) => isRight(kind, seen));
      if (left.length > 0) throw new Error(`not served again: ${left.map(({ name }) => name).join(', ')}`);
      excuses = calm;
    },
    async stop() {
      over.abort();
      await all;
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
