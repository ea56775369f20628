import { parsedJson } from '../lib/json/parsed.ts';
import type { Clock } from '../lib/clock.ts';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import type { Denial } from '../model/denial.ts';
import type { HandleKind } from '../model/mcp.ts';
import type { McpTarget } from '../model/policy.ts';
import { encodedValue } from './field-value.ts';
import { givenHandles, isNamedTask, type Handle } from './handles.ts';
import { spliceStrings, type Change } from '../lib/json/splice-strings.ts';
import type { OwnerBound } from './owner-bound.ts';

/** A client's message as the upstream receives it. */
interface Unbound {
  readonly text: string;
  /** The upstream's id of the task that `Mcp-Name` repeats, as a field value; undefined where it repeats none. */
  readonly mcpName: string | undefined;
  /** The upstream's ids of the tasks that the message presents, each with the {@link HandleContext.counted} it had. */
  readonly tasks: ReadonlyMap<string, string | undefined>;
  /** The {@link HandleContext.counted} of the `requestState` that the message presents. */
  readonly continues: string | undefined;
}

/** The owner of handles, and the request that presents them or whose answer gives them out. */
export interface HandleContext {
  /** As {@link lengthPrefixed} joins its parts. */
  readonly owner: string;
  readonly method: string | undefined;
  readonly targets: readonly McpTarget[];
  /** Names the counted call whose answer gives the handles out; undefined: it was not counted. Letters and digits. */
  readonly counted?: string | undefined;
}

/** A handle as the upstream knows it, with the counted call that it came from. */
interface Own {
  readonly value: string;
  readonly counted: string | undefined;
}

/** Makes the refusal of a handle from a detail for operators. */
export type HandleRefusal = (detail: string) => Denial;

/**
 * Binds the task ids and `requestState` of an upstream to the caller that receives them, as `Mcp-Session-Id` is bound.
 * The client sees base64url, a dot and the MAC: no JSON encoder escapes it, and a header can carry it. A `requestState`
 * is also bound to the method and target of its request, and expires (2026-07-28 §Multi round-trip requests). A
 * confirmation for one tool must not work for another, and must not be kept for later.
 */
export interface HandleBinding {
  /**
   * The text of a server's message with its handles bound; undefined where it has none or is not JSON. A handle that
   * passes unbound gives no access: the gateway refuses every request that presents it.
   *
   * @param tasks The only tasks whose ids are bound, each with the counted call that created it; undefined for any.
   *   Other ids stay as they are and give no access.
   */
  bindAll(
    text: string,
    context: HandleContext,
    tasks: ReadonlyMap<string, string | undefined> | undefined,
  ): string | undefined;
  /**
   * A client's message with the upstream's own handles in the place of the bound ones.
   *
   * @throws {Denial} what `refusal` makes, for a handle of another owner or another request, or one that has expired.
   */
  unbindAll(text: string, handles: readonly Handle[], context: HandleContext, refusal: HandleRefusal): Unbound;
}

/** The lifetime of a `requestState`: long enough for a person to answer. Each round of a call receives a new one. */
const STATE_LIFETIME_MS = 10 * 60 * 1000;

/** Creates the binding of handles on top of the binding of any text. */
export function createHandleBinding(handles: OwnerBound, clock: Clock): HandleBinding {
  /** Its expiry, if it is a state, the counted call, if there is one, and the handle itself, between dots. */
  function bind(value: string, kind: HandleKind, context: HandleContext, counted: string | undefined): string {
    const parts = [Buffer.from(value).toString('base64url')];
    if (counted !== undefined) parts.unshift(counted);
    if (kind === 'state') parts.unshift((clock() + STATE_LIFETIME_MS).toString(36));
    return handles.bind(parts.join('.'), parties(kind, context));
  }

  function unbind(value: string, kind: HandleKind, context: HandleContext): Own | undefined {
    const own = handles.unbind(value, parties(kind, context));
    if (own === undefined) return undefined;
    // parseInt stops at the dot behind the expiry.
    if (kind === 'state' && Number.parseInt(own, 36) <= clock()) return undefined;
    const [counted] = own.split('.').slice(kind === 'state' ? 1 : 0, -1);
    return { value: Buffer.from(own.slice(own.lastIndexOf('.') + 1), 'base64url').toString(), counted };
  }

  return {
    bindAll(text, context, tasks) {
      const changes = given(text)
        // UTF-8 cannot hold a lone surrogate: the upstream would get another handle back.
        .filter(({ value }) => value.isWellFormed())
        .filter(({ kind, value }) => kind !== 'task' || tasks === undefined || tasks.has(value))
        .map(({ path, kind, value }) => {
          const counted = (kind === 'task' ? tasks?.get(value) : undefined) ?? context.counted;
          return { path, from: value, to: bind(value, kind, context, counted) };
        });
      return changes.length === 0 ? undefined : spliceStrings(text, changes);
    },
    unbindAll(text, presented, context, refusal) {
      const changes: Change[] = [];
      let mcpName: string | undefined;
      const tasks = new Map<string, string | undefined>();
      let continues: string | undefined;
      for (const handle of presented) {
        const own = unbind(handle.value, handle.kind, context);
        // In a response to the server it may name a task that the client runs: the client made that id, unbound.
        if (own === undefined && handle.path[0] === 'result') continue;
        if (own === undefined) {
          throw refusal(`${handle.path.join('.')} was not given to this caller on this route, or not for this request`);
        }
        changes.push({ path: handle.path, from: handle.value, to: own.value });
        if (handle.kind === 'task') tasks.set(own.value, own.counted);
        else continues = own.counted;
        if (isNamedTask(handle)) mcpName = encodedValue(own.value);
      }
      return { text: changes.length === 0 ? text : spliceStrings(text, changes), mcpName, tasks, continues };
    },
  };
}

/** What a handle is bound to: its owner, its kind, and for a state its request. */
function parties(kind: HandleKind, { owner, method, targets }: HandleContext): string {
  const request = [method ?? '', ...targets.flatMap((target) => [target.kind, target.name])];
  return owner + lengthPrefixed([kind, ...(kind === 'task' ? [] : request)]);
}

/** The handles of a server's message, or of a batch of them (2025-03-26). */
function given(text: string): readonly Handle[] {
  const message = parsedJson(text);
  if (!Array.isArray(message)) return givenHandles(message);
  return message.flatMap((each, i) =>
    givenHandles(each).map(({ kind, path, value }) => ({ kind, path: [String(i), ...path], value })),
  );
}
