import type { GatewayKeys } from '../../schema/validators.js';
import { didYouMean } from '../lib/wording.ts';
import type { DecisionPointSettings } from '../model/decision-point.ts';
import type { Field } from './field.ts';
import { plainUrl } from './urls.ts';
import { headerValue, reject } from './values.ts';

/** The decision points of a configuration, by name. */
export type NamedDecisionPoints = ReadonlyMap<string, DecisionPointSettings>;

/** `decision_points`. Problems are reported to the fields, and the result is then not used. */
export function readDecisionPoints(field: Field<GatewayKeys['decision_points']>): NamedDecisionPoints {
  return new Map(
    field.entries().map(([name, point]) => [
      name,
      {
        name,
        url: point.get('url').read(plainUrl) ?? '',
        token: point.get('token').read(headerValue),
        timeoutMs: point.get('timeout').duration(),
        sendsArguments: point.get('arguments').isTrue(),
      },
    ]),
  );
}

/** The decision point of a name. */
export function decisionPointIn(points: NamedDecisionPoints): (name: string) => DecisionPointSettings {
  return (name) => {
    const near = didYouMean(name, [...points.keys()]);
    return points.get(name) ?? reject('is not in decision_points', near && `did you mean ${near}?`);
  };
}
