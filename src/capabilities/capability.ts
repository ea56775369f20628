import type { GatewayKeys, RouteKeys } from '../../schema/validators.js';
import type { Field } from '../core/config/field.ts';
import type { Files } from '../core/config/files.ts';
import type { Problem } from '../core/config/problems.ts';
import type { Violation } from '../core/config/schema.ts';
import type { Publish } from '../core/gateway/respond/publish.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { AuthorizationServer, AuthorizationServerClient } from '../core/model/authorization-server.ts';
import type { Call } from '../core/model/call.ts';
import type { Config } from '../core/model/config.ts';
import type { Events } from '../core/model/events.ts';
import type { Finding } from '../core/model/finding.ts';
import type { OnRoute } from '../core/model/gate.ts';
import type { GrantedCall, PresentedToken } from '../core/model/grant.ts';
import type { Attempt } from '../core/model/policy.ts';
import type { Ledger } from '../core/model/ledger.ts';
import type { Principal } from '../core/model/principal.ts';
import type { NamedRefusal } from '../core/model/refusal.ts';
import type { Endpoint, Proofs, Route, Statement } from '../core/model/route.ts';
import type { ReplayMemory, SharedAnswers } from '../core/model/shared.ts';
import type { Meters, MetricRows } from '../core/telemetry/metrics.ts';
import type { CommandKit, Commands } from './command.ts';

/** An entry of `Route.slots`; see `Slot`. */
export type SlotEntry =
  NonNullable<Route['slots']> extends ReadonlyMap<infer Key, infer Value> ? readonly [Key, Value] : never;

/** What the configuration defines, for keys that name it. */
interface Defined {
  readonly publicUrl: string;
  readonly servers: ReadonlyMap<string, AuthorizationServer>;
}

/** A route that has callers, as read so far. */
export type ReadRoute = Omit<Route, 'slots'>;

/** The parts of a process that a capability may use. A command that asks as the gateway would has them too. */
export interface ProcessParts {
  readonly clock: Clock;
  readonly events: Pick<Events, 'returned' | 'tokenLookup'>;
  /** What rules over time count in. */
  readonly ledger: Ledger;
  readonly log: (
    level: 'debug' | 'info' | 'warn' | 'error',
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ) => void;
  /** Answers of authorization servers that replicas share; undefined: they share none. */
  readonly answers: SharedAnswers | undefined;
  /** What may be used only once, with all replicas. */
  readonly replays: ReplayMemory;
  /** Moves the metrics of its manifest. */
  readonly meters: Meters;
  /** Tells the other processes of this gateway, by a message that JSON can carry; each gets it by `adopt`. */
  readonly share: (news: unknown) => void;
}

/** The parts of one configuration that a capability may use. */
export interface ConfigParts {
  readonly config: Pick<Config, 'publicUrl' | 'routes'>;
  /** For keys that are derived from it: `session_key`, or random in this process. */
  readonly secret: string | Buffer;
  /** By the names of `authorization_servers`. */
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
}

/** The parts of one route that a capability may use. */
export interface RouteParts {
  /** Validates a token of the route again, past every cache. Rejects with a {Denial}. */
  readonly revalidate: (token: PresentedToken) => Promise<unknown>;
}

/** A capability in one process: it has what outlives a configuration. */
export interface InProcess {
  /** Calls no server yet. */
  open(parts: ConfigParts): Opened;
  /** Drops what was made from the tokens of these callers: something about them has changed. */
  drop?(isMeant: (caller: Principal) => boolean): void;
  /** Takes what another process shared. */
  adopt?(news: unknown): void;
  /** What this process shared and still holds, for a process that begins. */
  news?(): readonly unknown[];
  /** Members of the status that the console shows. */
  state?(): object;
  close?(): void | Promise<void>;
}

/** An endpoint that the gateway answers itself, instead of an upstream. */
export interface OwnEndpoint {
  readonly endpoint: Endpoint;
  /** Answers a call that was allowed. */
  readonly answer: (granted: GrantedCall) => Promise<void>;
  /** Answers a person who comes without credentials; false for any other call. */
  readonly receive?: (call: Call) => boolean;
}

/** A capability under one configuration. */
export interface Opened {
  of(route: Route, parts: RouteParts): OnRoute;
  /** Answers a call for a document that it publishes; false for any other call. @throws {Denial} */
  readonly publish?: Publish;
  readonly endpoints?: readonly OwnEndpoint[];
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
  readonly having: (key: string) => ReadonlyMap<string, unknown>;
  readonly problemAt: (policy: string, violation: Violation) => Problem;
}

/** What a capability read beside policies. */
export interface ReadBesidePolicies {
  readonly problems: readonly Problem[];
  /** The text of each file, by its name within the folder. */
  readonly texts: ReadonlyMap<string, string>;
  /** The settings of a route that has callers. @param index That of the route in the file. */
  readonly ofRoute: (field: Field<RouteKeys>, route: ReadRoute, index: number) => readonly SlotEntry[];
}

/** Everything that the gateway asks of one capability. `all.ts` lists them; nothing else names one. */
export interface Capability {
  /** Its key in `gateway.yaml` or in policies. */
  readonly name: string;
  /** Its reasons for a refusal, by their names. */
  readonly reasons?: Readonly<Record<string, NamedRefusal>>;
  /** Reads its section. @returns what reads its keys of a route that has callers. */
  readonly read?: (
    root: Field<GatewayKeys>,
    defined: Defined,
  ) => (field: Field<RouteKeys>, route: ReadRoute) => SlotEntry | undefined;
  /** Its files beside policies, which are no policies: their names end with `suffix`. */
  readonly policyFiles?: {
    readonly suffix: string;
    readonly read: (folder: PolicyFolderReader) => Promise<ReadBesidePolicies>;
  };
  /** What it tells the upstream of a route about callers. */
  readonly statementOf?: (route: Pick<Route, 'slots'>) => Statement | undefined;
  /** What the clients of a route learn of proofs of possession. */
  readonly proofsOf?: (route: Pick<Route, 'slots'>) => Proofs | undefined;
  /** Probable mistakes in a valid configuration. */
  readonly warningsOf?: (config: Pick<Config, 'routes'>) => readonly Violation[];
  /**
   * What processes of this configuration must know together, in words that follow "because": `the policy orders has
   * quotas`. Several processes need `shared` for it.
   */
  readonly needsShared?: (config: Config) => readonly string[];
  /** Called once in a process, whatever the configuration: code is loaded where a route uses it. */
  readonly openProcess: (parts: ProcessParts) => InProcess;
  readonly metrics?: MetricRows;
  /** What the explanation of an allowed call cannot know, a sentence each. */
  readonly notesOn?: (route: Pick<Route, 'slots'>, attempt: Attempt) => readonly string[];
  /** Its commands by their names, and the one that they follow in the help. Their code is loaded when they run. */
  readonly commands?: { readonly after: string; readonly of: (kit: CommandKit) => Commands };
  /** What `doctor` finds. Loaded when it runs. */
  readonly examine?: (config: Pick<Config, 'routes' | 'publicUrl'>) => Promise<readonly Finding[]>;
}
