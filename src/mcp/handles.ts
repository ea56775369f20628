/**
 * Where handles (task ids and `requestState`) stand in the envelope of a message. The gateway never looks into the
 * input and output of a tool (`arguments`, `content`, `structuredContent`), whatever their members are called.
 *
 * @module
 */

import { hasCaseVariant, isObject, type Members } from '../core/lib/json/own-member.ts';
import { Denial } from '../core/model/denial.ts';
import { givingNotifications } from '../core/model/mcp.ts';
import type { Era, HandleKind, HandlePlace, McpMethod } from '../core/model/mcp-method.ts';
import type { MessageId } from '../core/model/grant.ts';

/** A handle in a message. */
export interface Handle {
  readonly kind: HandleKind;
  /** Keys and array indexes from the top of the message. */
  readonly path: readonly string[];
  readonly value: string;
}

const relatedTask = 'io.modelcontextprotocol/related-task';

const requestState: HandlePlace = { kind: 'state', path: ['params', 'requestState'] };
/** The first is from 2025-11-25, the second from the draft of the Tasks extension. */
const relatedTasks: readonly HandlePlace[] = [
  { kind: 'task', path: ['params', '_meta', relatedTask, 'taskId'] },
  { kind: 'task', path: ['params', '_meta', 'io.modelcontextprotocol/relatedTaskIds', '*'] },
];
const relatedToResult: HandlePlace = { kind: 'task', path: ['result', '_meta', relatedTask, 'taskId'] };

/** 2025-11-25 §Tasks (`result.task`, `tasks/get`), SEP-2663 (`result.taskId`), 2026-07-28 (`InputRequiredResult`). */
const resultPlaces: readonly HandlePlace[] = [
  { kind: 'task', path: ['result', 'taskId'] },
  { kind: 'task', path: ['result', 'task', 'taskId'] },
  { kind: 'state', path: ['result', 'requestState'] },
  relatedToResult,
];

/**
 * The handles that a client presents. Both eras have the same places: a place that counted in one era only would let an
 * unbound handle reach a server of both eras.
 *
 * A missing handle is left to the server, and so are `params`, `_meta` and `notifications` of `null`.
 *
 * @throws {Denial} `body.message` for a handle that is not a string, `null` included, since a server may read it as all
 *   tasks; `body.ambiguous` for a key that some parsers take for the handle's.
 */
export function presentedHandles(method: McpMethod, message: Members, messageId: MessageId): readonly Handle[] {
  const presented: Handle[] = [];
  for (const place of [...envelopePlaces(method), ...method.handles])
    addPresented(presented, message, { place, depth: 0, index: 0 }, messageId);
  return presented;
}

/** The client's response to a request of the server has no method. */
const inResponse: readonly HandlePlace[] = [relatedToResult];
/** 2026-07-28 reserves `requestState` for requests; a notification may use it for something else. */
const inRequest: readonly HandlePlace[] = [...relatedTasks, requestState];

/** Where any message of this kind may hold a handle, besides the places of its method. */
function envelopePlaces({ name, isNotification }: McpMethod): readonly HandlePlace[] {
  if (name === undefined) return inResponse;
  return isNotification ? relatedTasks : inRequest;
}

/** Whether `Mcp-Name` repeats a handle that a client presents. */
export function isNamedTask({ kind, path }: Handle): boolean {
  return kind === 'task' && path.length === 2;
}

/** The members that hold more than handles. */
const containers: ReadonlySet<string> = new Set(['params', '_meta', 'notifications']);

interface Position {
  readonly place: HandlePlace;
  /** The number of steps of its path that were taken. */
  readonly depth: number;
  /** The index of the entry that `*` stands for. No place has two. */
  readonly index: number;
}

function addPresented(presented: Handle[], value: unknown, position: Position, messageId: MessageId): void {
  const { place, depth } = position;
  const step = place.path[depth];
  if (step === undefined) {
    const path = pathTo(position);
    if (typeof value !== 'string') throw mistyped(path, messageId);
    presented.push({ kind: place.kind, path, value });
  } else if (step === '*' && Array.isArray(value)) {
    for (const [index, entry] of value.entries())
      addPresented(presented, entry, { place, depth: depth + 1, index }, messageId);
  } else if (step === '*' || !isObject(value)) {
    throw mistyped(pathTo(position), messageId);
  } else {
    const inner = unambiguousMember(value, step, messageId);
    if (inner === undefined || (inner === null && containers.has(step))) return;
    addPresented(presented, inner, { ...position, depth: depth + 1 }, messageId);
  }
}

/** Made only for a handle that is present: most messages have none. */
function pathTo({ place, depth, index }: Position): readonly string[] {
  return place.path.slice(0, depth).map((step) => (step === '*' ? String(index) : step));
}

function mistyped(path: readonly string[], messageId: MessageId): Denial {
  return new Denial('body.message', `${path.join('.')} is of the wrong type`, { messageId });
}

/**
 * The handles that a server gives out in one message. The entries of a list of tasks do not count, since such a list
 * holds the tasks of all callers. A request of the server about a task that the client runs (`tasks/get`) does not
 * count either: it carries the client's own handle.
 */
export function givenHandles(message: unknown): readonly Handle[] {
  if (!isObject(message)) return [];
  const { method } = message;
  if (typeof method !== 'string') return resultPlaces.flatMap((place) => givenAt(place, message));
  const places = [...relatedTasks, ...(givingNotifications.get(method) ?? [])];
  return places.flatMap((place) => givenAt(place, message));
}

/** The names of the members that give out handles. */
const givingMembers = new Set(
  [...resultPlaces, ...relatedTasks, ...[...givingNotifications.values()].flat()].flatMap(({ path }) =>
    path.filter((step) => step !== '*').slice(-1),
  ),
);

/** Whether a message may give out a handle; the others need not be parsed. */
export function mayGiveHandle(message: Buffer | string): boolean {
  // Several searches in bytes take twice as long. The names are ASCII.
  const text = message.toString('latin1');
  for (const name of givingMembers) if (text.includes(name)) return true;
  return false;
}

function givenAt({ kind, path }: HandlePlace, message: Members): readonly Handle[] {
  let found: { readonly path: readonly string[]; readonly value: unknown }[] = [{ path: [], value: message }];
  for (const step of path) {
    found = found.flatMap(({ path: above, value }) => {
      if (step === '*')
        return Array.isArray(value) ? value.map((entry, i) => ({ path: [...above, String(i)], value: entry })) : [];
      return isObject(value) && Object.hasOwn(value, step) ? [{ path: [...above, step], value: value[step] }] : [];
    });
  }
  return found.flatMap(({ path: at, value }) => (typeof value === 'string' ? [{ kind, path: at, value }] : []));
}

/** Whether the answer to a message may give out handles. The gateway reads only such answers; others stream through. */
export function mayYieldHandle(
  { name, isTask, mayNeedInput }: McpMethod,
  params: Members,
  era: Era,
  presented: readonly Handle[],
): boolean {
  if (name === undefined) return false;
  if (presented.length > 0 || isTask) return true;
  return era === 'modern' ? mayNeedInput : Object.hasOwn(params, 'task');
}

/** Whether the answer to a message creates no task: where its params name tasks, the answer is about those alone. */
export function createsNoTask({ handles }: McpMethod): boolean {
  return handles.length > 0;
}

/**
 * A member of an object that a client sent; undefined where it has none. The scanner has already refused two keys that
 * differ only in case; this refuses one such key alone.
 *
 * @throws {Denial} `body.ambiguous` for a key that some parsers take for the member.
 */
export function unambiguousMember(object: Members, name: string, messageId: MessageId): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  if (!hasCaseVariant(object, name)) return undefined;
  throw new Denial('body.ambiguous', `a key that differs from ${name} only in case`, { messageId });
}
