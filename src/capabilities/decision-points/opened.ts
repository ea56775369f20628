import { ensure } from '../../core/lib/remembered.ts';
import { loadOnce } from '../../core/lib/single-flight.ts';
import { messageOf } from '../../core/lib/wording.ts';
import type { AskAboutList } from '../../core/model/grant.ts';
import type { OnRoute } from '../../core/model/on-route.ts';
import type { Route } from '../../core/model/route.ts';
import type { Config } from '../../core/model/config.ts';
import type { Opened, ProcessParts } from '../capability.ts';
import type { DecisionPoint } from './decision-point.ts';
import { decisionPoint, type DecisionPointSettings } from './settings.ts';

type Load = () => Promise<typeof import('./decision-point.ts')>;

/** The decision points of one configuration, each one for all its routes. Most gateways have none, and load no code. */
export function openDecisionPoints(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { clock, log }: Pick<ProcessParts, 'clock' | 'log'>,
  load: Load = async () => import('./decision-point.ts'),
): Opened {
  const opened = new Map<DecisionPointSettings, () => Promise<DecisionPoint>>();

  function open(settings: DecisionPointSettings): Promise<DecisionPoint> {
    const create = async (): Promise<DecisionPoint> =>
      new (await load()).DecisionPoint(settings, publicUrl, clock, Math.random);
    return ensure(opened, settings, () => loadOnce(create))();
  }

  return {
    of(route): OnRoute {
      const settings = decisionPoint.of(route);
      if (settings === undefined) return {};
      let required: ReturnType<DecisionPoint['requireOn']> | undefined;
      let list: AskAboutList | undefined;
      const enter: ReturnType<DecisionPoint['requireOn']> = async (call, grant) => {
        required ??= (await open(settings)).requireOn(route);
        await required(call, grant);
      };
      return {
        gate: { span: 'consult', enter, judge: enter },
        readsArguments: settings.sendsArguments,
        askAboutList: async (...question) => {
          list ??= (await open(settings)).listOn(route);
          return list(...question);
        },
      };
    },
    // Reads the metadata of all that routes name, so that the first call need not wait for them.
    start(routes: readonly Pick<Route, 'slots'>[]) {
      for (const settings of new Set(routes.flatMap((route) => decisionPoint.of(route) ?? []))) {
        open(settings)
          .then((point) => point.endpoints())
          .catch((error: unknown) =>
            log('warn', 'decision point unavailable', { decision_point: settings.name, detail: messageOf(error) }),
          );
      }
    },
  };
}
