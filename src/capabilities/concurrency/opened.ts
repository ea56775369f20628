import type { OnRoute } from '../../core/model/on-route.ts';
import type { InProcess, ProcessParts } from '../capability.ts';
import { CallLimits } from './call-limits.ts';
import { concurrencyOf } from './settings.ts';

/** The counts of a process. They outlive a configuration. */
export function openConcurrency({ meters }: ProcessParts): InProcess {
  const limits = new CallLimits((name, value, route) => meters.set(name, value, route));
  return {
    open: () => ({
      of(route): OnRoute {
        if (concurrencyOf.of(route) === undefined) return {};
        return {
          gate: {
            span: 'queue',
            enter: (call, grant) => limits.enter(route.name, call, grant),
            // The proxy sends the request, and the gateway does not see its answer.
            ofQuestions: { enter() {} },
          },
          begun: (call, isEventStream) => limits.begun(route.protocol, call, isEventStream),
        };
      },
      start: (routes) => limits.use(routes),
    }),
  };
}
