import type { GatewayKeys, RouteKeys } from '../../schema/validators.js';
import type { Field } from '../core/config/field.ts';
import type { Files } from '../core/config/files.ts';
import type { Problem } from '../core/config/problems.ts';
import type { Violation } from '../core/config/schema.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Config } from '../core/model/config.ts';
import type { Finding } from '../core/model/finding.ts';
import type { OnRoute } from '../core/model/gate.ts';
import type { Attempt, Policy } from '../core/model/policy.ts';
import type { Route } from '../core/model/route.ts';
import type { Meters, MetricRows } from '../core/telemetry/metrics.ts';

/** An entry of `Route.slots`; see `Slot`. */
export type SlotEntry =
  NonNullable<Route['slots']> extends ReadonlyMap<infer Key, infer Value> ? readonly [Key, Value] : never;

/** The parts of one configuration that a capability may use. */
export interface CapabilityParts {
  readonly publicUrl: string;
  readonly clock: Clock;
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** The parts of a process that a capability may use. */
export interface ProcessParts {
  readonly clock: Clock;
  readonly log: (level: 'info' | 'warn' | 'error', message: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Moves the metrics of its manifest. */
  readonly meters: Meters;
  /** Tells the other processes of this gateway, by a message that JSON can carry; each gets it by `adopt`. */
  readonly share: (news: unknown) => void;
}

/** A capability in one process: what outlives a configuration. */
export interface InProcess {
  open(parts: CapabilityParts): Opened;
  /** Takes what another process shared. */
  adopt?(news: unknown): void;
  /** What this process shared and still holds, for a process that begins. */
  news?(): readonly unknown[];
  /** Members of the status that the console shows. */
  state?(): object;
  close?(): void | Promise<void>;
}

/** A capability under one configuration. */
export interface Opened {
  of(route: Route): OnRoute;
  /** Called when the configuration is in force. */
  start?(routes: readonly Route[]): void;
  close?(): void;
}

/** The policies that were read, for what stands beside them. */
export interface PolicyFolderReader {
  readonly path: string;
  /** Its name in messages. */
  readonly label: string;
  readonly files: Files;
  /** The valid policies that have a key, and its value in each. */
  having(key: string): ReadonlyMap<string, unknown>;
  problemAt(policy: string, violation: Violation): Problem;
}

/** What a capability read beside policies. */
interface ReadBesidePolicies {
  readonly problems: readonly Problem[];
  /** The text of each file, by its name within the folder. */
  readonly texts: ReadonlyMap<string, string>;
  /** The settings of a route that has callers. @param index That of the route in the file. */
  readonly ofRoute: (route: Field<RouteKeys>, policy: Policy | undefined, index: number) => readonly SlotEntry[];
}

/** Everything that the gateway asks of one capability. `all.ts` lists them; nothing else names one. */
export type Capability = Described & (InConfiguration | OverConfigurations);

/** A capability that keeps nothing from one configuration to the next. */
type InConfiguration = Pick<InProcess, 'open'>;

interface OverConfigurations {
  /** Makes what outlives a configuration, once a process. */
  readonly openProcess: (parts: ProcessParts) => InProcess;
}

interface Described {
  /** Its key in `gateway.yaml` or in policies. */
  readonly name: string;
  /** Reads its section. @returns what reads its keys of a route that has callers. */
  readonly read?: (root: Field<GatewayKeys>) => (route: Field<RouteKeys>) => SlotEntry | undefined;
  /** Its files beside policies, which are no policies: their names end with `suffix`. */
  readonly policyFiles?: {
    readonly suffix: string;
    readonly read: (folder: PolicyFolderReader) => Promise<ReadBesidePolicies>;
  };
  /** Probable mistakes in a valid configuration. */
  readonly warningsOf?: (config: Pick<Config, 'routes'>) => readonly Violation[];
  readonly metrics?: MetricRows;
  /** What the explanation of an allowed call cannot know, a sentence each. */
  readonly notesOn?: (route: Pick<Route, 'slots'>, attempt: Attempt) => readonly string[];
  /** What `doctor` finds. Loaded when it runs. */
  readonly examine?: (config: Pick<Config, 'routes' | 'publicUrl'>) => Promise<readonly Finding[]>;
}
