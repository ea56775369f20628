import type { Clock } from '../../lib/clock.ts';
import type { DecisionPointSettings } from '../../model/decision-point.ts';
import type { Route } from '../../model/route.ts';
import type { DecisionPoint } from '../../pipeline/decision-point/decision-point.ts';
import type { Stages } from '../../pipeline/pipeline.ts';

/**
 * Creates the questions of routes to their decision points. Each is one for all its routes, and loaded at its first
 * use: most gateways have none.
 */
export function createConsults(publicUrl: string, clock: Clock): (route: Route) => Stages['consult'] {
  const loaded = new Map<DecisionPointSettings, Promise<DecisionPoint>>();

  function load(settings: DecisionPointSettings): Promise<DecisionPoint> {
    const found = loaded.get(settings) ?? made(settings);
    loaded.set(settings, found);
    return found;
  }

  async function made(settings: DecisionPointSettings): Promise<DecisionPoint> {
    const { DecisionPoint: Loaded } = await import('../../pipeline/decision-point/decision-point.ts');
    return new Loaded(settings, publicUrl, clock, Math.random);
  }

  return (route) => {
    const { decisionPoint } = route;
    if (decisionPoint === undefined) return undefined;
    let required: Promise<ReturnType<DecisionPoint['requireOn']>> | undefined;
    return async (call, grant) => {
      required ??= load(decisionPoint).then((point) => point.requireOn(route));
      await (
        await required
      )(call, grant);
    };
  };
}
