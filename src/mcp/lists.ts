import { Denial } from '../core/model/denial.ts';
import { knownLists, type KnownList, isLockedKind } from '../core/model/mcp.ts';
import type { TargetKind } from '../core/model/mcp-method.ts';
import type { McpTarget } from '../core/model/policy.ts';
import { parseToRewrite } from '../core/lib/json/lossless.ts';
import { hasCaseVariant, isObject, type Members, ownMember, ownMemberAt } from '../core/lib/json/own-member.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import type { Action } from '../core/model/grant.ts';
import type { DefinitionKind } from './definitions.ts';

/** The lists that a policy filters. The gateway looks for each in every result: a stream may resume any answer. */
const filteredLists = knownLists.filter((list): list is KnownList<TargetKind> => list.kind !== 'task');
const taskLists = knownLists.filter(({ kind }) => kind === 'task');

/**
 * The text of a JSON-RPC message without the list entries that are not `visible`; undefined where the text stays as it
 * is. Any other text is serialized again from the value that was filtered: of a duplicate key some parsers take the
 * first copy, others the last. A list that depends on the caller is no longer `public` to caches, on any page.
 *
 * @param read Called with the parsed message or batch, if it can be filtered.
 * @throws {SyntaxError} for text that is not JSON, since it cannot be filtered.
 * @throws {Denial} `upstream.invalid` for keys that some parsers take for others, and for a list that is not an array.
 */
export function filteredMessage(
  text: string,
  visible: (target: McpTarget) => boolean,
  read?: (message: unknown) => void,
): string | undefined {
  const known = readText(text);
  read?.(known.message);
  const written = writtenFor(visible, known);
  return written === text ? undefined : written;
}

/**
 * The targets that the entries of the lists in a message name.
 *
 * @throws as {@link filteredMessage}.
 */
export function listedTargets(text: string): readonly McpTarget[] {
  return readText(text).targets;
}

/**
 * The text of a message without the tasks that it lists (`tasks/list` of 2025-11-25); undefined where the text stays as
 * it is. Any caller may have created a listed task: its status and messages are for that caller, and its id names no
 * owner.
 *
 * @throws as {@link filteredMessage}.
 */
export function withoutTasks(text: string): string | undefined {
  const changed = JSON.stringify(eachOf(parseToRewrite(text), without));
  return changed === text ? undefined : changed;

  function without(message: unknown): unknown {
    const result = resultOf(message);
    if (result === undefined) return message;
    const lists: Record<string, unknown> = {};
    for (const { member, name } of taskLists) {
      const tasks = decidingMember(result, member);
      if (Array.isArray(tasks))
        lists[member] = tasks.filter((task: unknown) => !isObject(task) || decidingMember(task, name) === undefined);
    }
    return withResult(message, result, lists);
  }
}

/** Whether a message may hold a list of tasks. */
export function mayListTasks(message: Buffer | string): boolean {
  return taskLists.some(({ member, name }) => message.includes(name) && message.includes(`"${member}"`));
}

/** A text with lists, and all of it that does not depend on the caller. */
interface KnownText {
  readonly text: string;
  readonly message: unknown;
  /** What the entries of its lists name, in their order. */
  readonly targets: readonly McpTarget[];
  /** The texts that callers got, by {@link SHOWN} or {@link HIDDEN} for each target. */
  readonly written: Map<string, string>;
}

const SHOWN = '1';
const HIDDEN = '0';

const MAX_TEXTS = 16;
/** The length of the longest text that is remembered, in UTF-16 code units. */
const MAX_LENGTH = 64 * 1024;
/** The most texts that are remembered for its callers. */
const MAX_WRITTEN = 8;

/**
 * The last texts with lists. Most clients ask for a list in the same way, and a server answers all of them alike, so
 * that parsing and writing would take most of the time. What a caller sees is decided each time.
 */
const recent: KnownText[] = [];
let next = 0;

function readText(text: string): KnownText {
  const before = recent.find((each) => each.text === text);
  if (before !== undefined) return before;
  const message = parseToRewrite(text);
  const targets: McpTarget[] = [];
  const all = filtered(message, (target) => Boolean(targets.push(target)));
  const known = { text, message, targets, written: new Map<string, string>() };
  if (all !== message && text.length <= MAX_LENGTH) {
    recent[next] = known;
    next = (next + 1) % MAX_TEXTS;
  }
  return known;
}

function writtenFor(visible: (target: McpTarget) => boolean, { message, targets, written }: KnownText): string {
  let shown = '';
  for (const target of targets) shown += visible(target) ? SHOWN : HIDDEN;
  const before = written.get(shown);
  if (before !== undefined) return before;
  // The policy is not asked again: its answer may depend on the time.
  let at = 0;
  const now = JSON.stringify(filtered(message, () => shown[at++] === SHOWN));
  if (written.size >= MAX_WRITTEN) written.clear();
  written.set(shown, now);
  return now;
}

/** A message, or each message of a batch, after `change`. */
export function eachOf(message: unknown, change: (message: unknown, index: number) => unknown): unknown {
  return Array.isArray(message) ? (message as unknown[]).map(change) : change(message, 0);
}

/** The result that a response has, if it is an object. */
export function resultOf(message: unknown): Members | undefined {
  const result = isObject(message) ? decidingMember(message, 'result') : undefined;
  return isObject(result) ? result : undefined;
}

/** A message or batch without the entries that are not `visible`. Asks once for each entry with a name, in order. */
function filtered(message: unknown, visible: (target: McpTarget) => boolean): unknown {
  return eachOf(message, (each) => withVisible(each, visible));
}

function withVisible(message: unknown, visible: (target: McpTarget) => boolean): unknown {
  if (Array.isArray(message)) throw unreadable('a batch within a batch');
  const result = resultOf(message);
  if (result === undefined) return message;
  const isPublic = decidingMember(result, 'cacheScope') === 'public';
  const changes: Record<string, unknown> = {};
  for (const { member, kind, name } of filteredLists) {
    const entries = decidingMember(result, member);
    // Go writes an empty list as null.
    if (entries === undefined || entries === null) continue;
    if (!Array.isArray(entries)) throw unreadable(`${member} is not an array`);
    changes[member] = entries.filter((entry: unknown) => {
      const named = isObject(entry) ? decidingMember(entry, name) : undefined;
      // An entry without a name cannot be called, and the policy cannot decide on it.
      return typeof named === 'string' && visible({ kind, name: named });
    });
    if (isPublic) changes['cacheScope'] = 'private';
  }
  return withResult(message, result, changes);
}

/** A copy of the message with other members in its result; the message itself if there are none. */
export function withResult(message: unknown, result: Members, changes: Members): unknown {
  return Object.keys(changes).length === 0 ? message : { ...(message as Members), result: { ...result, ...changes } };
}

/** A member that the filter decides by. Go's parser also takes keys that differ only in case, and the last one wins. */
export function decidingMember(object: Members, name: string): unknown {
  if (hasCaseVariant(object, name)) throw unreadable(`a key that differs from ${name} only in case`);
  return ownMember(object, name);
}

/** The refusal of an answer that two parsers may read differently. */
export function unreadable(what: string): Denial {
  return new Denial('upstream.invalid', `${what}: such a list cannot be filtered`);
}

/** The kind of definitions that a call lists from the first page; undefined for any other call. */
export function listedFromStart({ attempt, body }: Pick<Action, 'attempt' | 'body'>): DefinitionKind | undefined {
  const kind = attempt.kind === 'mcp' ? attempt.method.list?.kind : undefined;
  if (body === undefined || !isLockedKind(kind)) return undefined;
  return ownMemberAt(parsedJson(body.toString()), ['params', 'cursor']) === undefined ? kind : undefined;
}
