import { loadOnce } from '../../core/lib/single-flight.ts';
import type { OnRoute } from '../../core/model/on-route.ts';
import type { Route } from '../../core/model/route.ts';
import type { InProcess, ProcessParts } from '../capability.ts';
import type { CallLimits } from './call-limits.ts';
import { concurrencyOf } from './settings.ts';

/** The counts of a process. They outlive a configuration. Their code is loaded for the first route with bounds. */
export function openConcurrency({ meters }: ProcessParts): InProcess {
  let limits: CallLimits | undefined;
  let newest: readonly Route[] = [];
  const loaded = loadOnce(async () => {
    const code = await import('./call-limits.ts');
    limits ??= new code.CallLimits((name, value, route) => meters.set(name, value, route));
    limits.use(newest);
    return limits;
  });

  return {
    open: () => ({
      of(route): OnRoute {
        if (concurrencyOf.of(route) === undefined) return {};
        return {
          gate: {
            span: 'queue',
            enter: (call, grant) =>
              limits === undefined
                ? loaded().then((all) => all.enter(route.name, call, grant))
                : limits.enter(route.name, call, grant),
            // The proxy sends the request, and the gateway does not see its answer.
            ofQuestions: { enter() {} },
          },
          begun: (call, isEventStream) => limits?.begun(route.protocol, call, isEventStream),
        };
      },
      start(routes) {
        newest = routes;
        if (limits !== undefined) limits.use(routes);
        else if (routes.some((route) => concurrencyOf.of(route) !== undefined)) loaded().catch(() => {});
      },
    }),
  };
}
