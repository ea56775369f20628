/** @module What the gateway knows of a method of MCP. `mcp.ts` has the table. */

/** `legacy`: revisions with `initialize` and sessions. `modern`: from 2026-07-28, where each request stands alone. */
export type Era = 'legacy' | 'modern';

/**
 * A kind of targets that a policy can list. `template`: an RFC 6570 URI template, which stands for resources and is
 * listed among them.
 */
export type TargetKind = 'tool' | 'resource' | 'template' | 'prompt';

/** A kind of entries of a policy: targets, methods by their names, and requests of HTTP routes. */
export type ListedKind = TargetKind | 'method' | 'request';

/** The keys of a policy that say what may be called: `requests` on an HTTP route, the others on an MCP route. */
export type ListingKey = 'tools' | 'resources' | 'prompts' | 'methods' | 'requests';

/** A kind of handles: the gateway never accepts a handle of one kind as one of the other. */
export type HandleKind = 'task' | 'state';

/** Where a handle stands in a message: keys from its top, and `*` for every index of an array. */
export interface HandlePlace {
  readonly kind: HandleKind;
  readonly path: readonly string[];
}

/** A list in a result: the member that holds it, and the member that names an entry. */
export interface McpList<Kind extends TargetKind | 'task' = TargetKind | 'task'> {
  readonly member: string;
  readonly kind: Kind;
  readonly name: string;
}

interface NamedTarget<Kind> {
  readonly kind: Kind;
  readonly parameter: string;
}

/**
 * What a request acts on, and what in a policy allows it.
 *
 * - `target`: the entry of what it acts on.
 * - `reference`: the entry of what it refers to, where the policy lists such things; else an entry of `methods`.
 * - `housekeeping`: no entry is necessary. It only opens, keeps or describes a connection. An entry of `methods` can
 *   restrict it.
 * - `entry`: an entry of `methods`.
 * - `exact entry`: an entry of `methods` with its exact name. No pattern covers it.
 */
type Authorization =
  | { readonly allowedBy: 'target'; readonly target: NamedTarget<TargetKind> }
  | { readonly allowedBy: 'reference'; readonly target: 'reference' }
  | {
      readonly allowedBy: 'housekeeping' | 'entry' | 'exact entry';
      /** `subscriptions`: each resource that the client subscribes to, which is decided on its own. */
      readonly target: NamedTarget<'task'> | 'subscriptions' | undefined;
    };

/** What the gateway knows of a method. */
export type MethodRow = Authorization & {
  /** `legacy`: 2026-07-28 removed it, and the gateway refuses it there. A server of both eras could still answer it. */
  readonly eras: 'both' | 'legacy';
  readonly isNotification: boolean;
  /** Whether it belongs to the Tasks extension (SEP-2663), which a client declares in each request of 2026-07-28. */
  readonly isTask: boolean;
  /**
   * What its answer holds of a task that another request created: the task, with its result once it has one (SEP-2663),
   * or the result alone (2025-11-25).
   */
  readonly fetches: 'task' | 'result' | undefined;
  /** Whether its answer may begin a session of a legacy revision. */
  readonly opensSession: boolean;
  /** Whether a policy may decide on `params.arguments`, which must be an object then. */
  readonly hasArguments: boolean;
  /** Where its params hold handles, besides those that any request may hold. */
  readonly handles: readonly HandlePlace[];
  /** 2026-07-28 §Multi round-trip requests: whether a server may answer `input_required`, with a `requestState`. */
  readonly mayNeedInput: boolean;
  /** Whether its result in 2026-07-28 says which caches may keep it (`CacheableResult`). */
  readonly isCacheable: boolean;
  /** The list in its result. The gateway filters it, and removes all entries of a list of tasks. */
  readonly list: McpList | undefined;
};

/** A method of MCP: its row, or what is assumed of one without a row. */
export type McpMethod = MethodRow & {
  /** Undefined for a message without a method. */
  readonly name: string | undefined;
};
