import { historyKey } from '../../policy-parts/history/key.ts';
import type { Gate } from '../../core/model/gate.ts';
import type { Route } from '../../core/model/route.ts';
import type { InProcess, ProcessParts } from '../capability.ts';
import { createCount, createJudge } from './count.ts';
import { createLedger } from './process-ledger.ts';

/** Rules over time in a process. */
export function openHistory({ store, events }: ProcessParts): InProcess {
  const ledger = createLedger(store);

  function gateOf(route: Route): Gate {
    const count = createCount(route, { ledger, onReturned: events.returned });
    const judge = createJudge(route, ledger);
    return {
      span: 'count',
      enter: (call, grant) => count?.(call, grant),
      judge: (_call, grant) => judge?.(grant),
    };
  }

  return {
    open: () => ({ of: (route) => (route.policy && historyKey.inPolicy(route.policy) ? { gate: gateOf(route) } : {}) }),
  };
}
