import { ensure } from '../../core/lib/remembered.ts';
import { messageOf } from '../../core/lib/wording.ts';
import type { OnRoute } from '../../core/model/on-route.ts';
import type { Config } from '../../ports/config.ts';
import type { InProcess, Opened, ProcessParts } from '../capability.ts';
import { DecisionPoint } from './decision-point.ts';
import { decisionPoint, type DecisionPointSettings } from './settings.ts';

/** Decision points in a process. */
export function openDecisionPoints(parts: Pick<ProcessParts, 'clock' | 'log'>): InProcess {
  return { open: ({ config }) => openedUnder(config, parts) };
}

/** The decision points of one configuration, each one for all its routes. */
function openedUnder(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { clock, log }: Pick<ProcessParts, 'clock' | 'log'>,
): Opened {
  const opened = new Map<DecisionPointSettings, DecisionPoint>();
  const open = (settings: DecisionPointSettings): DecisionPoint =>
    ensure(opened, settings, () => new DecisionPoint(settings, publicUrl, clock, Math.random));

  return {
    of(route): OnRoute {
      const settings = decisionPoint.of(route);
      if (settings === undefined) return {};
      const point = open(settings);
      const enter = point.requireOn(route);
      return {
        gate: { span: 'consult', enter, judge: enter },
        readsArguments: settings.arguments,
        askAboutList: point.listOn(route),
      };
    },
    // Reads the metadata of all that routes name, so that the first call need not wait for them.
    start(routes) {
      for (const settings of new Set(routes.flatMap((route) => decisionPoint.of(route) ?? []))) {
        open(settings)
          .endpoints()
          .catch((error: unknown) =>
            log('warn', 'decision point unavailable', { decision_point: settings.name, detail: messageOf(error) }),
          );
      }
    },
  };
}
