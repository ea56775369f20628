import type { Config } from '../../model/config.ts';
import type { DecisionPointSettings } from '../../model/decision-point.ts';
import { DecisionPoint } from '../../pipeline/decision-point/decision-point.ts';
import { type Finding, findingsOn } from './finding.ts';

/** Reads the metadata of each decision point, as `serve` does. It asks for no decision. */
export async function examineDecisionPoints({
  routes,
  publicUrl,
}: Pick<Config, 'routes' | 'publicUrl'>): Promise<readonly Finding[]> {
  const used = new Set(routes.flatMap(({ decisionPoint }) => decisionPoint ?? []));
  return Promise.all(
    [...used].map((settings) => {
      const filtering = routes.filter(
        ({ decisionPoint, policy }) => decisionPoint === settings && policy?.lists === 'filter',
      );
      return examineOne(
        settings,
        publicUrl,
        filtering.map(({ name }) => name),
      );
    }),
  );
}

async function examineOne(
  settings: DecisionPointSettings,
  publicUrl: string,
  filtering: readonly string[],
): Promise<Finding> {
  const on = findingsOn(`decision_points.${settings.name}`);
  const point = new DecisionPoint(settings, publicUrl, Date.now, Math.random);
  try {
    const { evaluation, evaluations, areNamed } = await point.endpoints();
    if (evaluations === undefined && filtering.length > 0) {
      const text = `its metadata have no access_evaluations_endpoint: lists on ${filtering.join(', ')} get 503`;
      return on.fail(text, 'set lists: show in the policy');
    }
    return on.ok(areNamed ? `its metadata name ${evaluation}` : `it has no metadata: the gateway asks ${evaluation}`);
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return on.fail(found, 'every call on its routes gets 503: check that it is up, and its url and timeout');
  } finally {
    point.close();
  }
}
