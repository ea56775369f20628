import { messageOf } from '../../core/lib/wording.ts';
import type { Config } from '../../ports/config.ts';
import { type Finding, findingsOn } from '../finding.ts';
import type { Route } from '../../core/model/route.ts';
import { DecisionPoint } from './decision-point.ts';
import { decisionPoint, type DecisionPointSettings } from './settings.ts';

/** Reads the metadata of each decision point, as `serve` does. It asks for no decision. */
export async function examineDecisionPoints({
  routes,
  publicUrl,
}: Pick<Config, 'routes' | 'publicUrl'>): Promise<readonly Finding[]> {
  const byPoint = Map.groupBy(routes, (route) => decisionPoint.of(route));
  return Promise.all(
    [...byPoint].flatMap(([settings, users]) => (settings === undefined ? [] : examine(settings, publicUrl, users))),
  );
}

async function examine(settings: DecisionPointSettings, publicUrl: string, routes: readonly Route[]): Promise<Finding> {
  const on = findingsOn(`decision_points.${settings.name}`);
  const point = new DecisionPoint(settings, publicUrl, Date.now, Math.random);
  const filtering = routes.filter(({ policy }) => policy?.lists === 'filter').map(({ name }) => name);
  try {
    const { evaluation, evaluations, areNamed } = await point.endpoints();
    if (evaluations === undefined && filtering.length > 0) {
      const text = `its metadata have no access_evaluations_endpoint: lists on ${filtering.join(', ')} get 503`;
      return on.fail(text, 'set lists: show in the policy');
    }
    return on.ok(areNamed ? `its metadata name ${evaluation}` : `it has no metadata: the gateway asks ${evaluation}`);
  } catch (error) {
    const problem = messageOf(error);
    return on.fail(problem, 'every call on its routes gets 503: check that it is up, and its url and timeout');
  } finally {
    point.close();
  }
}
