import { historyKey } from '../../policy-parts/history/key.ts';
import { loadOnce } from '../../core/lib/single-flight.ts';
import type { Gate } from '../../core/model/gate.ts';
import type { Route } from '../../core/model/route.ts';
import type { InProcess, ProcessParts } from '../capability.ts';
import type { createCount, createJudge } from './count.ts';

interface Counting {
  readonly count: ReturnType<typeof createCount>;
  readonly judge: ReturnType<typeof createJudge>;
}

/** Rules over time in a process. Most gateways have none, and load no code. */
export function openHistory({ store, events }: ProcessParts): InProcess {
  const load = loadOnce(async () => {
    const [code, { createLedger }] = await Promise.all([import('./count.ts'), import('./process-ledger.ts')]);
    return { ...code, ledger: createLedger(store) };
  });

  function gateOf(route: Route): Gate {
    let counting: Counting | undefined;
    async function loaded(): Promise<Counting> {
      const { createCount: counts, createJudge: judges, ledger } = await load();
      counting ??= {
        count: counts(route, { ledger, onReturned: events.returned }),
        judge: judges(route, ledger),
      };
      return counting;
    }
    // No call waits for code.
    void loaded().catch(() => {});
    return {
      span: 'count',
      enter(call, grant) {
        // With the ledger of this process, a call that needs no code any more is judged in its turn.
        if (counting !== undefined) return counting.count?.(call, grant);
        return loaded().then(({ count }) => count?.(call, grant));
      },
      judge: async (_call, grant) => (await loaded()).judge?.(grant),
    };
  }

  return {
    open: () => ({ of: (route) => (route.policy && historyKey.inPolicy(route.policy) ? { gate: gateOf(route) } : {}) }),
  };
}
