import type { GatewayKeys, RouteKeys } from '../../schema/validators.js';
import type { Field } from '../core/config/field.ts';
import type { Files } from '../core/config/files.ts';
import type { Problem } from '../core/config/problems.ts';
import type { Violation } from '../core/config/schema.ts';
import type { ForwardParts } from '../core/gateway/forward/forward.ts';
import type { Gateway, Stages } from '../core/gateway/pipeline.ts';
import type { CrossOrigin } from '../core/gateway/respond/cross-origin.ts';
import type { Publish } from '../core/gateway/respond/publish.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Egress } from '../ports/own-requests.ts';
import type { AuthorizationServer } from '../core/model/authorization-server.ts';
import type { AuthorizationServerClient } from '../ports/authorization-server-client.ts';
import type { Call } from '../core/model/call.ts';
import type { Config } from '../ports/config.ts';
import type { Address } from '../core/model/listen.ts';
import type { Events } from '../core/model/events.ts';
import type { Finding } from './finding.ts';
import type { Gate } from '../core/model/gate.ts';
import type { Slot } from '../core/model/slot.ts';
import type { OnRoute } from '../core/model/on-route.ts';
import type { Grant, GrantedCall, PresentedToken } from '../core/model/grant.ts';
import type { Attempt } from '../core/model/policy.ts';
import type { Principal } from '../core/model/principal.ts';
import type { NamedRefusal } from '../core/model/refusal.ts';
import type { KnownCall } from '../core/model/outcome.ts';
import type { OwnFields, Route, Statement } from '../core/model/route.ts';
import type { Endpoint, Proofs } from '../core/model/endpoint.ts';
import type { Failures, ReplayMemory, SharedAnswers } from '../ports/shared.ts';
import type { LogStore, OpenStore, SharedStore, StoreSettings } from '../ports/store.ts';
import type { Denial } from '../core/model/denial.ts';
import type { FrontDoorRevocations, OperatorRevocations } from '../ports/revocation.ts';
import type { OpenStream } from '../core/gateway/forward/open-streams.ts';
import type { Log } from '../core/telemetry/log.ts';
import type { Meters, MetricRows, Metrics } from '../core/telemetry/metrics.ts';
import type { AdminPages, AdminParts, Answered, Observe } from './admin.ts';
import type { CommandKit, Commands } from './command.ts';

/** An entry of `Route.slots` or `Config.slots`; see `Slot`. */
export type SlotEntry =
  NonNullable<Route['slots']> extends ReadonlyMap<infer Key, infer Value> ? readonly [Key, Value] : never;

/** What the configuration defines, for keys that name it. */
interface Defined {
  readonly publicUrl: string;
  /** The name of the folder of policies in messages. */
  readonly folderLabel: string;
  readonly servers: ReadonlyMap<string, AuthorizationServer>;
}

/** A route that has callers, as read so far. */
export type ReadRoute = Omit<Route, 'slots'>;

/** Reads the keys of a route. Problems are reported to the field, and the result is then not used. */
type ReadsRoute = (field: Field<RouteKeys>, route: ReadRoute) => SlotEntry | undefined;

/** A page of text for a person. */
export interface PersonPage {
  readonly title: string;
  readonly heading: string;
  /** Its paragraphs; `code`: as it is typed. */
  readonly lines: readonly (string | { readonly code: string })[];
  readonly note: string;
}

/** The parts of a process that a capability may use. A command that asks as the gateway would has them too. */
export interface ProcessParts {
  /** The store of the newest configuration; undefined: none is configured. */
  readonly store: () => SharedStore | undefined;
  readonly clock: Clock;
  readonly events: Pick<Events, 'returned' | 'tokenLookup'>;
  readonly log: (
    level: 'debug' | 'info' | 'warn' | 'error',
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ) => void;
  /** Answers of authorization servers that replicas share; undefined: they share none. */
  readonly answers: SharedAnswers | undefined;
  /** What may be used only once, with all replicas. */
  readonly replays: ReplayMemory;
  /** Shows a page to a person without credentials. */
  readonly showPage: (call: Call, page: PersonPage) => Promise<void>;
  /** Moves the metrics of its manifest. */
  readonly meters: Meters;
  /** Tells the other processes of this gateway, by a message that JSON can carry; each gets it by `adopt`. */
  readonly share: (news: unknown) => void;
}

/** The parts of one configuration that a capability may use. */
export interface ConfigParts {
  readonly config: Pick<Config, 'publicUrl' | 'routes'> & Partial<Pick<Config, 'slots' | 'frontDoor'>>;
  /** For keys that are derived from it: `session_key`, or random in this process. */
  readonly secret: string | Buffer;
  /** By the names of `authorization_servers`. */
  readonly clients: ReadonlyMap<string, AuthorizationServerClient>;
}

/** The parts of one route that a capability may use. */
export interface RouteParts {
  /** Validates a token of the route again, past every cache. Rejects with a {Denial}. */
  readonly revalidate: (token: PresentedToken) => Promise<unknown>;
  /** The gates after its own. Called when all capabilities are open on the route. */
  readonly later: () => readonly Gate[];
  /** The state that a client sends back after its user was sent to a page about a call. */
  readonly stateOf: (grant: Grant) => string;
}

/** A capability in one process: it has what outlives a configuration. */
export interface InProcess {
  /** Loads what {@link open} needs for a configuration. */
  prepare?(config: ConfigParts['config']): Promise<void>;
  /** Calls no server yet. */
  open(parts: ConfigParts): Opened;
  /** Drops what was made from the tokens of these callers: something about them has changed. */
  drop?(isMeant: (caller: Principal) => boolean): void;
  /** Takes what another process shared. */
  adopt?(news: unknown): void;
  /** What this process shared and still holds, for a process that begins. */
  news?(): readonly unknown[];
  /** Members of the state of the process, for the admin listener. */
  state?(): object;
  /** What it answers the admin listener. */
  readonly answers?: readonly Answered[];
  close?(): void | Promise<void>;
}

/** An endpoint that the gateway answers itself, instead of an upstream. */
export interface OwnEndpoint {
  readonly endpoint: Endpoint;
  /** Reads the body of a call before that is decided on; undefined: no call has one. @throws {Denial} */
  readonly read?: (call: Call) => Promise<Buffer>;
  /** Answers a call that was allowed. @param ofOrigin The header fields for a page of another origin. */
  readonly answer: (granted: GrantedCall, ofOrigin: Readonly<Record<string, string>>) => Promise<void>;
  /** Answers a call without credentials that a browser makes for a person; false for any other call. */
  readonly receive?: (call: Call) => boolean;
}

/** A capability under one configuration. */
export interface Opened {
  of(route: Route, parts: RouteParts): OnRoute;
  /** Creates what forwards the upgrades of a route. One capability has it. */
  readonly forwardUpgrade?: (route: Route, parts: ForwardParts) => Stages['forwardUpgrade'];
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

/** A mistake in a policy. */
interface PolicyViolation extends Violation {
  readonly policy: string;
}

/** The settings that a section of the configuration may refer to. */
export interface ConfigReferents extends Pick<Config, 'publicUrl' | 'listen' | 'admin' | 'frontDoor' | 'routes'> {
  readonly servers: Config['authorizationServers'];
  /** The default rate of routes. */
  readonly rate: Route['rate'];
  /** The folder of `gateway.yaml`. */
  readonly base: string;
  /** Says that the gateway answers a path itself. What leads to two things is reported. */
  readonly claimPath: (path: OwnPath) => void;
}

/** A path that the gateway answers itself. */
export interface OwnPath {
  readonly path: string;
  /** Whether no other path may lie below it, nor it below another one. Below a route at `/`, each may lie. */
  readonly isApart: boolean;
  /** As messages name it. */
  readonly owner: string;
  readonly at: Field;
}

/** A setting that a running gateway keeps as it was at its start. */
export interface RestartPlace {
  readonly slot: Slot<object>;
  /** The member of the settings; undefined: all of them. */
  readonly member?: string;
  /** Of a listener, which a reload neither opens nor closes: the other members while the files lack the section. */
  readonly others?: object;
}

/** What the stages of a listener of a capability are made of, on one route. */
export interface ListenerRouteParts extends Pick<ForwardParts, 'publicUrl' | 'claimed' | 'states'> {
  /** Reads a call that can present neither a session nor a handle. */
  readonly readAction: Stages['readAction'];
  readonly crossOrigin: CrossOrigin;
  /** The value of `DPoP-Nonce`, where the route requires one. */
  readonly nonce: (() => string) | undefined;
}

/** What the gateway behind a listener of a capability is made of. */
export interface ListenerParts {
  readonly config: Config;
  readonly crossOrigin: CrossOrigin;
  /** Finds the stages that the listener made. */
  readonly route: Gateway['route'];
}

/** A listener besides the one of clients. Its calls are decided by the same stages. */
export interface OwnListener {
  /** The member of the log that says where it listens. */
  readonly name: string;
  /** The parties that ask there, and what they do, in words: `proxies ask`. */
  readonly title: string;
  readonly address: Address;
  /** Addresses and networks of its peers whose word on the trace of a call counts. */
  trusted(config: Config): readonly string[];
  /** The stages for calls of a route. @param stages Those of clients. */
  stagesOf(stages: Stages & { readonly route: Route }, parts: ListenerRouteParts): Stages;
  /** The stages for calls of an endpoint of the gateway. */
  ownStagesOf(stages: Stages): Stages;
  /** @param gateway The gateway for clients. */
  gateway(gateway: Gateway, parts: ListenerParts): Gateway;
}

/** The parts of a process that traces use. */
export interface TracingParts {
  readonly log: Pick<Log, 'event'>;
  readonly meters: Meters;
}

/** What traces say of the calls of a gateway. */
export interface TracedGateway {
  readonly publicUrl: string;
  /** Addresses and networks of the peers whose sampled flag is honoured. */
  readonly trusted: readonly string[];
  /** Whether the last step sends a request to an upstream. */
  readonly forwards: boolean;
}

/** Makes spans around the steps of a gateway, and around its requests to authorization servers. */
export interface Tracing {
  gateway(gateway: Gateway, about: TracedGateway): Gateway;
  client(client: AuthorizationServerClient): AuthorizationServerClient;
  /** Takes each decision line, as the log writes it; undefined: it wants none. */
  readonly decided?: (line: string, call: Pick<KnownCall, 'trace'>) => void;
  /** Sends the spans that have ended, and the lines, within a time limit. */
  close(): Promise<void>;
}

/** What a capability read beside policies. */
export interface ReadBesidePolicies {
  readonly problems: readonly Problem[];
  /** The text of each file, by its name within the folder. */
  readonly texts: ReadonlyMap<string, string>;
  /** The settings of a route that has callers. @param index That of the route in the file. */
  readonly ofRoute: (field: Field<RouteKeys>, route: ReadRoute, index: number) => readonly SlotEntry[];
}

/** A section that was read with its files. */
export interface ReadFiles {
  readonly entry: SlotEntry | undefined;
  /** What to watch for changes. */
  readonly files: readonly string[];
}

/** Changes lines on their way to an output, and adds lines of its own. */
export interface LineLink {
  /** The lines, each with its line feed, as they are written. Called once before each {@link settled}. */
  link(lines: Buffer): Buffer;
  /** @param bytes How many were written of what {@link link} returned. @returns how many lines were lost. */
  settled(bytes: number): number;
  /** Called with the number of lines that were lost before they came here. */
  lose(lines: number): void;
  /** Lets the next write end with what vouches for all lines so far. */
  closeSection(): void;
}

/** The lines of a process under a capability. */
export interface OpenedLines {
  /** The link of one output. @param flush Lets the output write what the link has of its own. */
  of(output: 'stdout' | 'file', flush: () => void): LineLink;
  /** JSON documents for operators, by their paths at the admin listener. */
  readonly documents: Readonly<Record<string, unknown>>;
  close(): void;
}

/** The parts of a process that its revocation uses. */
export interface RevocationParts {
  readonly config: Config;
  readonly log: Pick<Log, 'event'>;
  readonly clock: Clock;
  readonly openStore: OpenStore;
}

/** The parts of a process that revocations have an effect on. */
export interface AffectedParts {
  /** The open streams. Those that end while they are iterated are left out. */
  readonly open: () => Iterable<OpenStream>;
  readonly end: (stream: OpenStream) => void;
  /** Drops what is cached of the tokens of these callers. */
  readonly drop: (isMeant: (caller: Pick<Principal, 'issuer' | 'subject' | 'issuedAt' | 'claims'>) => boolean) => void;
}

/** The parts of a gateway that endpoints use which authenticate their callers themselves. */
export interface EndpointParts {
  /** @throws {Denial} `request.host` for another `Host` than those of the gateway. */
  readonly requireHost: (call: Call) => void;
  /** Counts wrong credentials as failures of the address. */
  readonly failures: Failures;
  /** Answers and records a call as one that no route has. */
  readonly refuse: (call: Call, denial: Denial) => void;
}

/** The endpoints of one configuration. */
export interface OwnEndpoints {
  /** Answers a call; false for any other one. @throws {Denial} */
  readonly publish: Publish;
  readonly endpoints: readonly OwnEndpoint[];
}

/** Whose rights ended, as a process keeps it. */
export interface KeptRevocations extends OperatorRevocations {
  readonly check: FrontDoorRevocations;
  readonly metrics: Pick<Metrics, 'registry' | 'page'>;
  /** Serves by another configuration. */
  use(config: Config): void;
  /** Ends streams and drops caches, from now on. */
  affect(parts: AffectedParts): void;
  endpoints(config: Config, parts: EndpointParts): OwnEndpoints;
  /** Everything that a front door has to know, in messages that JSON can carry. */
  everything(): Iterable<unknown>;
  /** Tells what comes later, in such messages. */
  follow(tell: (message: unknown) => void): void;
  close(): Promise<void>;
}

/** The parts of a process that follows what others keep. */
export interface FollowParts {
  readonly log: LogStore;
  readonly openStore: OpenStore;
}

/** Whose rights ended, as a front door knows it. */
export interface ToldRevocations {
  readonly check: FrontDoorRevocations;
  /** Takes a message of {@link KeptRevocations}. */
  take(message: unknown): void;
  /** Serves by another configuration. */
  use(config: Config): void;
}

/** What ends rights before tokens expire. */
interface RevocationProvider {
  /** How long a revocation is remembered; undefined: nothing ends rights under this configuration. */
  settingsOf(config: Config): { readonly keepMs: number } | undefined;
  /** Opens what is kept, before the first request. Rejects with a {StartFault} if it cannot be used. */
  open(parts: RevocationParts): Promise<KeptRevocations | undefined>;
  /** What a process answers the admin listener. */
  answers(kept: KeptRevocations | undefined): readonly Answered[];
  /** Follows it in a front door: from the store, or by what the gateway tells it. */
  follow(config: Config, parts: FollowParts): Promise<ToldRevocations>;
}

/** Everything that the gateway asks of one capability. `all.ts` lists them; nothing else names one. */
export interface Capability {
  /** Its key in `gateway.yaml` or in policies. */
  readonly name: string;
  /** Its reasons for a refusal, by their names. */
  readonly reasons?: Readonly<Record<string, NamedRefusal>>;
  /** Whether `read` reads the keys of public routes too. */
  readonly readsPublic?: true;
  /**
   * Reads its section, and loads what that needs. @returns what reads its keys of a route, of a public one only with
   * {@link readsPublic}; undefined: no route has them.
   */
  readonly read?: (root: Field<GatewayKeys>, defined: Defined) => ReadsRoute | Promise<ReadsRoute | undefined>;
  /**
   * Reads its section, after the routes, and loads what that needs. Problems are reported to the fields, and the result
   * is then not used.
   */
  readonly readSection?: (
    root: Field<GatewayKeys>,
    referents: ConfigReferents,
  ) => SlotEntry | undefined | Promise<SlotEntry | undefined>;
  /** Reads its section with the files that it names, before all others. Problems are reported to the fields. */
  readonly readFiles?: (root: Field<GatewayKeys>, base: string, files: Files) => Promise<ReadFiles>;
  /** Its settings that need a restart, by their keys: `x-restart` in the schema. */
  readonly restarts?: Readonly<Record<string, RestartPlace>>;
  /** Its files beside policies, which are no policies: their names end with `suffix`. */
  readonly policyFiles?: {
    readonly suffix: string;
    readonly read: (folder: PolicyFolderReader) => Promise<ReadBesidePolicies>;
  };
  /** What it tells the upstream of a route about callers. */
  readonly statementOf?: (route: Pick<Route, 'slots'>) => Statement | undefined;
  /** The header fields of the gateway itself for the upstream of a route. */
  readonly ownFieldsOf?: (route: Pick<Route, 'slots'>) => OwnFields | undefined;
  /** What the clients of a route learn of proofs of possession. */
  readonly proofsOf?: (route: Pick<Route, 'slots'>) => Proofs | undefined;
  /** What a route upgrades connections to. */
  readonly upgradeOf?: (route: Pick<Route, 'slots'>) => Route['upgrade'];
  /** Mistakes in policies of a configuration that is valid otherwise. */
  readonly policyProblems?: (config: Pick<Config, 'routes' | 'slots'>) => readonly PolicyViolation[];
  /** Probable mistakes in a valid configuration. */
  readonly warningsOf?: (config: Pick<Config, 'routes' | 'shared' | 'slots' | 'frontDoor'>) => readonly Violation[];
  /**
   * What processes of this configuration must know together, in words that follow "because": `the policy orders has
   * quotas`. Several processes need `shared` for it.
   */
  readonly needsShared?: (config: Config) => readonly string[];
  /** Called once in a process, whatever the configuration: {@link InProcess.prepare} loads code. */
  readonly openProcess?: (parts: ProcessParts) => InProcess;
  /** The store that processes and replicas share. One capability has it. */
  readonly store?: {
    readonly read: (root: Field<GatewayKeys>) => Promise<StoreSettings | undefined>;
    readonly open: OpenStore;
  };
  /** Opens what it does with the lines of the log; undefined: nothing. Awaited before the first line. */
  readonly openLines?: (config: Config, clock: Clock, meters: Meters | undefined) => Promise<OpenedLines | undefined>;
  /** Opens what leads requests of the process itself, which may have no configuration; undefined: they go directly. */
  readonly openEgress?: (
    config: Pick<Config, 'slots' | 'frontDoor'> | undefined,
    env: NodeJS.ProcessEnv,
  ) => Promise<Egress | undefined>;
  /** Its listener; undefined: none is configured. Awaited before the first request. */
  readonly openListener?: (config: Config) => Promise<OwnListener | undefined>;
  /** Opens traces; undefined: none are configured. Awaited before the first request. */
  readonly openTracing?: (config: Config, parts: TracingParts) => Promise<Tracing | undefined>;
  /** Checks the lines that {@link openLines} wrote. @param keys Where its keys are. */
  readonly verifyLog?: (files: readonly string[], keys: string | undefined) => Promise<0 | 1 | 2>;
  readonly metrics?: MetricRows;
  /** Observes processes that have an admin listener. */
  readonly observe?: Observe;
  /** How its members of the state of several processes become those of all. */
  joinStates?(states: readonly object[]): object;
  /** What it shows at the admin listener. Loaded when that starts. */
  readonly openAdmin?: (parts: AdminParts) => Promise<AdminPages>;
  /** What the explanation of an allowed call cannot know, a sentence each. */
  readonly notesOn?: (route: Pick<Route, 'slots'>, attempt: Attempt) => readonly string[];
  /** Its commands by their names, and the one that they follow in the help. Their code is loaded when they run. */
  readonly commands?: { readonly after: string; readonly of: (kit: CommandKit) => Commands };
  /** One capability has it. */
  readonly revocation?: RevocationProvider;
  /** What `doctor` finds. Loaded when it runs. */
  readonly examine?: (
    config: Pick<Config, 'routes' | 'publicUrl' | 'shared' | 'authorizationServers'>,
  ) => Promise<readonly Finding[]>;
}
