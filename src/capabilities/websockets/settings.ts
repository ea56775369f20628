import type { RouteKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { Slot } from '../../core/model/slot.ts';
import type { Route } from '../../core/model/route.ts';

/** Undefined: the route serves no upgrade. */
export const webSockets = new Slot<{ readonly upgrade: 'websocket' }>();

/** `upgrade` of a route. */
export function readUpgrade(
  field: Field<RouteKeys['upgrade']>,
  { protocol }: Pick<Route, 'protocol'>,
): 'websocket' | undefined {
  const upgrade = field.value();
  if (upgrade !== undefined && protocol === 'mcp')
    field.addProblem(
      'cannot be combined with protocol: mcp: the gateway cannot read the messages of an upgraded connection',
    );
  return upgrade;
}
