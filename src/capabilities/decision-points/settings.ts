import type { GatewayKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { headerValue, plainUrl } from '../../core/config/values.ts';
import { Slot } from '../../core/model/slot.ts';

/** An external decision point, AuthZEN Authorization API 1.0, as `decision_points` describes it. */
export interface DecisionPointSettings {
  readonly name: string;
  /** Its identifier, which its metadata must repeat byte for byte. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`. */
  readonly token: string | undefined;
  /** The limit of one question, with everything that it needs. */
  readonly timeoutMs: number;
  /** Whether it gets the arguments of tools and prompts. */
  readonly sendsArguments: boolean;
}

/** The decision point of a route: it must allow too what the policy allows. */
export const decisionPoint = new Slot<DecisionPointSettings>();

/** Reads `decision_points`, by their names. */
export function readPoints(field: Field<GatewayKeys['decision_points']>): ReadonlyMap<string, DecisionPointSettings> {
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
