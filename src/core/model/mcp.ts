/**
 * What the gateway knows of MCP: its revisions, the methods that a client may call, and the kinds of what they act on.
 * Every decision about a method or a kind reads these tables, so that a new method is one row. `methods` of a policy,
 * the lists that are filtered and the handles that are bound follow from them.
 *
 * @module
 */

import { plainName } from '../lib/look-alike.ts';
import type {
  Era,
  HandlePlace,
  ListedKind,
  ListingKey,
  McpList,
  McpMethod,
  MethodRow,
  TargetKind,
} from './mcp-method.ts';
import type { ReasonBy } from './reasons.ts';

/**
 * The longest method, and the longest name of a tool or a prompt, in UTF-16 code units. A longer one is refused before
 * it is folded: a megabyte of U+FDFA, which becomes 18 characters, would take half a second.
 */
export const MAX_NAME_LENGTH = 1_024;
/** The longest URI of a resource or a template. */
export const MAX_URI_LENGTH = 2_048;

/** The revisions of MCP that the gateway forwards, oldest first. */
export const revisions: ReadonlyMap<string, Era> = new Map<string, Era>([
  ['2024-11-05', 'legacy'],
  ['2025-03-26', 'legacy'],
  ['2025-06-18', 'legacy'],
  ['2025-11-25', 'legacy'],
  ['2026-07-28', 'modern'],
]);

interface ListedRow {
  /** The key of a policy. Of targets it is also the name that MCP has for such: `notifications/KEY/list_changed`. */
  readonly key: ListingKey;
  /** For people. */
  readonly word: string;
  /** The refusal of one that the policy does not list. */
  readonly unlisted: ReasonBy<'listing'>;
}

interface TargetRow extends ListedRow {
  /** The method that uses an entry of a list. */
  readonly usedBy: RequestName;
  /** The method of a message that names one. Only a completion names a template. */
  readonly namedBy: RequestName;
  /** Whether a lock covers the definitions of such. */
  readonly isLockable?: true;
}

/** A list, with the method that asks for it. */
export interface KnownList<Kind extends TargetKind | 'task' = TargetKind | 'task'> extends McpList<Kind> {
  readonly method: string;
}

/** The row of a method: a list says where its entries stand, so that no list passes without a filter. */
type Row<Name> = MethodRow & {
  readonly list: Name extends `${string}/list` ? McpList : undefined;
};

const taskId: HandlePlace = { kind: 'task', path: ['params', 'taskId'] };
const subscribedTasks: HandlePlace = { kind: 'task', path: ['params', 'notifications', 'taskIds', '*'] };

const request = {
  allowedBy: 'entry',
  target: undefined,
  eras: 'both',
  isNotification: false,
  isTask: false,
  fetches: undefined,
  opensSession: false,
  hasArguments: false,
  handles: [],
  mayNeedInput: false,
  isCacheable: false,
  list: undefined,
} as const satisfies MethodRow;
const housekeeping = { ...request, allowedBy: 'housekeeping' } as const;
const list = { ...housekeeping, isCacheable: true } as const;
const task = { ...request, isTask: true, handles: [taskId] } as const;
/** A request about one task. Its id is the handle of a call that was allowed, bound to the caller. */
const ofOneTask = { ...task, allowedBy: 'housekeeping', target: { kind: 'task', parameter: 'taskId' } } as const;

function target<Kind extends TargetKind>(kind: Kind, parameter: string) {
  return { allowedBy: 'target', target: { kind, parameter } } as const;
}

/** The requests of a client, in all revisions that the gateway knows and in the Tasks extension. */
const requests = table({
  initialize: { ...housekeeping, opensSession: true },
  ping: { ...housekeeping },
  'server/discover': { ...housekeeping, isCacheable: true },
  'logging/setLevel': { ...housekeeping },
  'tools/list': { ...list, list: { member: 'tools', kind: 'tool', name: 'name' } },
  'tools/call': { ...request, ...target('tool', 'name'), hasArguments: true, mayNeedInput: true },
  'resources/list': { ...list, list: { member: 'resources', kind: 'resource', name: 'uri' } },
  'resources/templates/list': {
    ...list,
    list: { member: 'resourceTemplates', kind: 'template', name: 'uriTemplate' },
  },
  'resources/read': { ...request, ...target('resource', 'uri'), mayNeedInput: true, isCacheable: true },
  'resources/subscribe': { ...request, ...target('resource', 'uri'), eras: 'legacy' },
  'resources/unsubscribe': { ...request, ...target('resource', 'uri'), eras: 'legacy' },
  'prompts/list': { ...list, list: { member: 'prompts', kind: 'prompt', name: 'name' } },
  'prompts/get': { ...request, ...target('prompt', 'name'), hasArguments: true, mayNeedInput: true },
  'completion/complete': { ...request, allowedBy: 'reference', target: 'reference' },
  'subscriptions/listen': { ...housekeeping, target: 'subscriptions', handles: [subscribedTasks] },
  // A server that knows no users answers with the tasks of all callers, which the author of a pattern may not expect.
  'tasks/list': {
    ...task,
    allowedBy: 'exact entry',
    eras: 'legacy',
    list: { member: 'tasks', kind: 'task', name: 'taskId' },
  },
  'tasks/get': { ...ofOneTask, fetches: 'task' },
  'tasks/result': { ...ofOneTask, eras: 'legacy', fetches: 'result' },
  'tasks/update': ofOneTask,
  'tasks/cancel': ofOneTask,
});

/** The name of a request that the gateway knows. */
export type RequestName = keyof typeof requests;

/** The notifications of a server that give out handles, besides those that any message may hold. */
export const givingNotifications: ReadonlyMap<string, readonly HandlePlace[]> = new Map([
  ['notifications/tasks', [taskId]],
  ['notifications/tasks/status', [taskId]],
  ['notifications/subscriptions/acknowledged', [subscribedTasks]],
]);

/** The kinds that a policy can list. Where one call could name several targets, the first decides. */
export const listedKinds = {
  tool: {
    key: 'tools',
    word: 'tool',
    unlisted: 'tool.unlisted',
    usedBy: 'tools/call',
    namedBy: 'tools/call',
    isLockable: true,
  },
  resource: {
    key: 'resources',
    word: 'resource',
    unlisted: 'resource.unlisted',
    usedBy: 'resources/read',
    namedBy: 'resources/read',
  },
  template: {
    key: 'resources',
    word: 'resource template',
    unlisted: 'resource.unlisted',
    usedBy: 'resources/read',
    namedBy: 'completion/complete',
  },
  prompt: {
    key: 'prompts',
    word: 'prompt',
    unlisted: 'prompt.unlisted',
    usedBy: 'prompts/get',
    namedBy: 'prompts/get',
    isLockable: true,
  },
  method: { key: 'methods', word: 'method', unlisted: 'method.unlisted' },
  request: { key: 'requests', word: 'request', unlisted: 'request.unlisted' },
} as const satisfies Readonly<Record<TargetKind, TargetRow> & Record<'method' | 'request', ListedRow>>;

/** The kinds of targets, in the order of the table. */
export const targetKinds: readonly TargetKind[] = (Object.keys(listedKinds) as ListedKind[]).filter(
  (kind) => kind !== 'method' && kind !== 'request',
);

/** The kinds by which tests describe a call. One call has one of them, and one of a message may have a method too. */
export const namedKinds = [...targetKinds, 'request'] as const;
/** A member by which tests describe a call. */
export type NamedKind = (typeof namedKinds)[number];

/** The kinds by which people describe a call: no client calls a template. */
export const describedKinds = namedKinds.filter((kind) => kind !== 'template');
/** A member by which people describe a call. */
export type DescribedKind = Exclude<ListedKind, 'template'>;

/** The kinds whose definitions a lock covers. */
export type LockedKind = {
  [Kind in TargetKind]: (typeof listedKinds)[Kind] extends { isLockable: true } ? Kind : never;
}[TargetKind];

/** Whether a lock covers the definitions of a kind. */
export function isLockedKind(kind: TargetKind | 'task' | undefined): kind is LockedKind {
  return kind !== undefined && kind !== 'task' && 'isLockable' in listedKinds[kind];
}

/** The row of a method that has none. */
const unknown = {
  notification: { ...housekeeping, isNotification: true },
  task,
  /** Its entries could not be filtered, so that no pattern covers it. */
  taskList: { ...task, allowedBy: 'exact entry' },
  list: { ...request, allowedBy: 'exact entry' },
  request,
} as const satisfies Readonly<Record<string, MethodRow>>;

/** The method of a GET, a DELETE, or the client's response to a request of the server. */
export const noMethod: McpMethod = { ...housekeeping, name: undefined };

/** All requests that the gateway knows, by their names. */
export const knownRequests: ReadonlyMap<string, McpMethod> = new Map(
  Object.entries<MethodRow>(requests).map(([name, row]) => [name, { ...row, name }]),
);
/** The lists in all results that the gateway knows, each with the method that asks for it. */
export const knownLists: readonly KnownList[] = [...knownRequests].flatMap(([method, { list: own }]) =>
  own === undefined ? [] : [{ ...own, method }],
);
/** The lists of definitions that a lock covers. */
export const lockedLists = knownLists.filter((each): each is KnownList<LockedKind> => isLockedKind(each.kind));
const byPlainName = new Map([...knownRequests.keys()].map((name) => [plainName(name), name]));

/** The method of a name; undefined: a message without a method. Read once for each message, which then carries it. */
export function mcpMethod(name: string | undefined): McpMethod {
  if (name === undefined) return noMethod;
  return knownRequests.get(name) ?? { ...assumed(name), name };
}

function assumed(name: string): MethodRow {
  if (name.startsWith('notifications/')) return unknown.notification;
  const isList = name.endsWith('/list');
  if (name.startsWith('tasks/')) return isList ? unknown.taskList : unknown.task;
  return isList ? unknown.list : unknown.request;
}

/** A method without a row for each way in which such methods are allowed, other than by any entry that covers them. */
export const methodsWithoutRow: Readonly<Partial<Record<McpMethod['allowedBy'], string>>> = {
  housekeeping: 'notifications/',
  'exact entry': '/list',
};

/**
 * The known request that some servers read `name` as, although it is spelled in another way: `Tools/Call`, `"tools/call
 * "`; undefined for any other name. The gateway would look for neither its targets nor its handles.
 */
export function mistakenFor(name: string): string | undefined {
  return knownRequests.has(name) ? undefined : byPlainName.get(plainName(name));
}

function table<Rows extends { readonly [Name in keyof Rows]: Row<Name> }>(rows: Rows): Rows {
  return rows;
}
