import type { GatewayKeys, RouteKeys } from '../../schema/validators.js';
import type { Field } from '../core/config/field.ts';
import type { Violation } from '../core/config/schema.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Config } from '../core/model/config.ts';
import type { Finding } from '../core/model/finding.ts';
import type { OnRoute } from '../core/model/gate.ts';
import type { Route } from '../core/model/route.ts';

/** An entry of `Route.slots`; see `Slot`. */
export type SlotEntry =
  NonNullable<Route['slots']> extends ReadonlyMap<infer Key, infer Value> ? readonly [Key, Value] : never;

/** The parts of a process that a capability may use. */
export interface CapabilityParts {
  readonly publicUrl: string;
  readonly clock: Clock;
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** A capability under one configuration. */
export interface Opened {
  of(route: Route): OnRoute;
  /** Called when the configuration is in force. */
  start?(routes: readonly Route[]): void;
  close?(): void;
}

/** Everything that the gateway asks of one capability. `all.ts` lists them; nothing else names one. */
export interface Capability {
  /** Its key in `gateway.yaml`. */
  readonly name: string;
  /** Reads its section. @returns what reads its keys of a route that has callers. */
  readonly read: (root: Field<GatewayKeys>) => (route: Field<RouteKeys>) => SlotEntry | undefined;
  /** Probable mistakes in a valid configuration. */
  readonly warningsOf?: (config: Pick<Config, 'routes'>) => readonly Violation[];
  /**
   * What processes of this configuration must know together, in words that follow "because": `the policy orders has
   * quotas`. Several processes need `shared` for it.
   */
  readonly needsShared?: (config: Config) => readonly string[];
  readonly open: (surroundings: CapabilityParts) => Opened;
  /** What `doctor` finds. Loaded when it runs. */
  readonly examine?: (config: Pick<Config, 'routes' | 'publicUrl'>) => Promise<readonly Finding[]>;
}
