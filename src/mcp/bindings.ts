import { lengthPrefixed } from '../core/lib/digest.ts';
import { type Change, spliceStrings, withoutMembers } from './splice-strings.ts';
import { Denial } from '../core/model/denial.ts';
import type { Fields } from '../core/model/fields.ts';
import type { Action, Grant, MessageId, TaskOrigin } from '../core/model/grant.ts';
import { noMethod } from '../core/model/mcp.ts';
import type { HandleKind } from '../core/model/mcp-method.ts';
import { calledTool, type McpTarget } from '../core/model/policy.ts';
import type { Principal } from '../core/model/principal.ts';
import type { Route } from '../core/model/route.ts';
import { createsNoTask, givenHandles, type Handle, isNamedTask } from './handles.ts';
import { type Message, tasksRequired } from './message.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import type { Clock } from '../core/lib/clock.ts';
import { encodedValue } from './agreement.ts';
import { createHmac, timingSafeEqual } from 'node:crypto';

interface BindingParts {
  readonly sessions: OwnerBound;
  readonly handles: HandleBinding;
  /** Makes a name that no other call has. */
  readonly uuid: () => string;
}

type PresentedFields = Pick<Fields, 'mcpSessionId' | 'lastEventId' | 'mcpName'>;

interface Received {
  readonly message: Message;
  readonly body: Buffer;
}

type OwnNames = OwnHandles & Pick<Action, 'sessionId' | 'lastEventId' | 'resumes'>;
type OwnHandles = Pick<Action, 'mcpName' | 'tasks' | 'continues' | 'body'>;

/**
 * What an upstream gives out on one route and a client presents later: sessions, the events of their streams, tasks,
 * and the state of a request. Each is bound to its owner when it is given, and is the upstream's own again when its
 * owner presents it.
 */
export class Bindings {
  readonly #route: Pick<Route, 'name'>;
  readonly #parts: BindingParts;

  constructor(route: Pick<Route, 'name'>, parts: BindingParts) {
    this.#route = route;
    this.#parts = parts;
  }

  /**
   * The upstream's own names for what a call presents. MCP 2026-07-28 has neither sessions nor resumed streams: there
   * the gateway drops both headers.
   *
   * @param received Undefined for a GET and a DELETE.
   * @throws {Denial} `session.unknown` for a session that is not this caller's; `handle.unknown` for a task, a state or
   *   an event that is not, or `message.capability` where the server would refuse the request before it looked at the
   *   task; `message.header_mismatch` for a task that only `Mcp-Name` names, since that header would pass unchanged.
   */
  present(principal: Principal | undefined, fields: PresentedFields, received: Received | undefined): OwnNames {
    const isModern = received?.message.era === 'modern';
    const messageId = received?.message.id ?? null;
    const sessionId = isModern ? undefined : this.#session(principal, fields.mcpSessionId, messageId);
    const handles = received === undefined ? noHandles : this.#handles(principal, fields.mcpName, received);
    const event = isModern ? {} : this.#event(principal, fields.lastEventId, { sessionId, messageId });
    return { ...handles, sessionId, lastEventId: undefined, ...event };
  }

  /** The `Mcp-Session-Id` that the client gets; undefined: none. */
  giveSession(theirs: string, { principal, action }: Grant): string | undefined {
    return action.era === 'modern' ? undefined : this.#parts.sessions.bind(theirs, this.#owner(principal));
  }

  /**
   * Makes the ids of the events of a stream that the client gets. A server resumes a stream by an id alone, and some
   * servers number the events of all sessions in one sequence: with the next number a client would read another's
   * events.
   *
   * @param namesCall Whether the ids name the call of a tool that the stream answers.
   */
  giveEventIds({ principal, action }: Grant, sessionId: string | undefined, namesCall = false): (id: string) => string {
    // At the first id: most streams have none.
    let owner: string | undefined;
    const call = namesCall ? suffixOf(action) : '';
    return (id) => {
      owner ??= this.#eventOwner(principal, sessionId);
      return this.#parts.sessions.bind(Buffer.from(id, 'latin1').toString('base64url') + call, owner);
    };
  }

  /**
   * The message of an upstream with the handles that the client gets; undefined where there are none. A task becomes
   * the caller's only when it is created: an answer that names other tasks, as a list does, gives none out.
   *
   * @param origin The call that is answered, as tasks name it.
   */
  giveHandles(text: string, { principal, action }: Grant, origin: TaskOrigin): string | undefined {
    const context = { ...this.#context(principal, requestOf(action)), ...origin };
    return this.#parts.handles.bindAll(text, context, action.tasks);
  }

  /** The state that a client sends back to repeat a call that a person has to approve. It gives no access. */
  giveApprovalState({ principal, action }: Grant): string {
    return this.#parts.sessions.bind(APPROVAL, parties(APPROVAL, this.#context(principal, requestOf(action))));
  }

  #context(principal: Principal | undefined, { method, targets }: Request): HandleContext {
    return { owner: this.#owner(principal), method: method.name, targets };
  }

  /** The caller on the route. Never the token, which is renewed during a session. */
  #owner(principal: Principal | undefined): string {
    const name = lengthPrefixed([this.#route.name]);
    if (principal === undefined) return name;
    // A caller that cannot be distinguished from others owns nothing that a second request could use.
    const { issuer, callerKey = lengthPrefixed([issuer, 'unidentified', this.#parts.uuid()]) } = principal;
    return name + callerKey;
  }

  /** The owner of an event: the owner of its session, in this session. */
  #eventOwner(principal: Principal | undefined, sessionId: string | undefined): string {
    return this.#owner(principal) + lengthPrefixed(['event', sessionId ?? '']);
  }

  #session(principal: Principal | undefined, bound: string | undefined, messageId: MessageId): string | undefined {
    if (bound === undefined) return undefined;
    const session = this.#parts.sessions.unbind(bound, this.#owner(principal));
    if (session !== undefined) return session;
    throw new Denial('session.unknown', 'Mcp-Session-Id was not given to this caller on this route', { messageId });
  }

  #event(
    principal: Principal | undefined,
    bound: string | undefined,
    { sessionId, messageId }: Pick<Action, 'sessionId' | 'messageId'>,
  ): Pick<Action, 'lastEventId' | 'resumes'> | undefined {
    if (bound === undefined) return undefined;
    const event = this.#parts.sessions.unbind(bound, this.#eventOwner(principal, sessionId));
    if (event !== undefined) {
      const [id = '', call] = event.split('.');
      const resumes = call === undefined ? undefined : resumedCall(call);
      return { lastEventId: Buffer.from(id, 'base64url').toString('latin1'), resumes };
    }
    const detail = 'Last-Event-ID was not given to this caller in this session';
    throw new Denial('handle.unknown', detail, { messageId });
  }

  #handles(principal: Principal | undefined, named: string | undefined, { message, body }: Received): OwnHandles {
    const { handles, id, method } = message;
    let own: OwnHandles = { ...noHandles, tasks: noTasks, body };
    // Few messages present a handle.
    if (handles.length > 0) {
      const context = this.#context(principal, message);
      const approval = parties(APPROVAL, context);
      const theirs = handles.filter(
        ({ kind, value }) => kind === 'task' || this.#parts.sessions.unbind(value, approval) === undefined,
      );
      // The upstream did not ask for an approval: neither the state nor an answer reaches it.
      const answersUs = theirs.length < handles.length;
      const sent = answersUs
        ? withoutMembers(String(body), 'params', ['requestState', 'inputResponses'])
        : String(body);
      const { text, ...names } = this.#parts.handles.unbindAll(sent, theirs, context, refusalOf(message));
      own = { ...names, body: Buffer.from(text) };
    }
    if (named !== undefined && own.mcpName === undefined && method.isTask) {
      throw new Denial('message.header_mismatch', 'Mcp-Name names a task and the body names none', { messageId: id });
    }
    return createsNoTask(method) ? own : { ...own, tasks: undefined };
  }
}

/** The longest name of a call in the id of an event, in bytes: a header has to carry the id. */
const MAX_CALL_BYTES = 512;

/** What an event id has behind the upstream's own id: the call of a tool that is answered; `''` for anything else. */
function suffixOf({ attempt, messageId, resumes }: Action): string {
  const tool = calledTool(attempt);
  const call = tool === undefined ? resumes : { messageId, tool };
  const text = call === undefined ? '' : JSON.stringify([call.messageId, call.tool]);
  return text === '' || Buffer.byteLength(text) > MAX_CALL_BYTES ? '' : `.${Buffer.from(text).toString('base64url')}`;
}

function resumedCall(text: string): NonNullable<Action['resumes']> {
  const [messageId, tool] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [MessageId, string];
  return { messageId, tool };
}

const APPROVAL = 'approval';

type Request = Pick<Message, 'method' | 'targets'>;

function requestOf({ attempt }: Action): Request {
  return attempt.kind === 'mcp' ? attempt : { method: noMethod, targets: [] };
}

const noHandles = { mcpName: undefined, tasks: undefined, continues: undefined, body: undefined };
const noTasks: ReadonlyMap<string, TaskOrigin> = new Map();

/**
 * The refusal of a handle that is not the caller's. SEP-2663 §Capability: a server answers -32021 to a client that does
 * not declare the Tasks extension, whatever the task. The gateway answers so itself, because it must not forward a
 * handle that may be another caller's. For a handle of the caller's own the server decides.
 */
function refusalOf({ method, era, id: messageId, declaresTasks }: Message): HandleRefusal {
  if (era === 'modern' && method.isTask && !declaresTasks) {
    return () =>
      new Denial('message.capability', 'the client does not declare tasks', { messageId, data: tasksRequired });
  }
  return (detail) => new Denial('handle.unknown', detail, { messageId });
}

/** A client's message as the upstream receives it. */
type Unbound = Omit<OwnHandles, 'body'> & { readonly text: string };

/**
 * The owner of handles, and the request that presents them or whose answer gives them out. Of that, `counted` has only
 * letters and digits.
 */
export interface HandleContext extends TaskOrigin {
  /** As {@link lengthPrefixed} joins its parts. */
  readonly owner: string;
  readonly method: string | undefined;
  readonly targets: readonly McpTarget[];
}

/** A handle as the upstream knows it, with the call that it came from. */
interface OwnHandle {
  readonly value: string;
  readonly origin: TaskOrigin;
}

type HandleRefusal = (detail: string) => Denial;

/** The lifetime of a `requestState`: long enough for a person to answer. Each round of a call receives a new one. */
const STATE_LIFETIME_MS = 10 * 60 * 1000;

/**
 * Binds the task ids and `requestState` of an upstream to the caller that receives them, as `Mcp-Session-Id` is bound.
 * The client sees base64url, a dot and the MAC: no JSON encoder escapes it, and a header can carry it. A `requestState`
 * is also bound to the method and target of its request, and expires (2026-07-28 §Multi round-trip requests). A
 * confirmation for one tool must not work for another, and must not be kept for later.
 */
export class HandleBinding {
  readonly #handles: OwnerBound;
  readonly #clock: Clock;

  constructor(handles: OwnerBound, clock: Clock) {
    this.#handles = handles;
    this.#clock = clock;
  }

  /**
   * The text of a server's message with its handles bound; undefined where it has none or is not JSON. A handle that
   * passes unbound gives no access: the gateway refuses every request that presents it.
   *
   * @param tasks The only tasks whose ids are bound, each with the call that created it; undefined for any. Other ids
   *   stay as they are and give no access.
   */
  bindAll(
    text: string,
    context: HandleContext,
    tasks: ReadonlyMap<string, TaskOrigin> | undefined,
  ): string | undefined {
    const changes = given(text)
      // UTF-8 cannot hold a lone surrogate: the upstream would get another handle back.
      .filter(({ value }) => value.isWellFormed())
      .filter(({ kind, value }) => kind !== 'task' || tasks === undefined || tasks.has(value))
      .map(({ path, kind, value }) => {
        const known = kind === 'task' ? tasks?.get(value) : undefined;
        const origin = { counted: known?.counted ?? context.counted, tool: known?.tool ?? context.tool };
        return { path, from: value, to: this.#bind(value, kind, context, origin) };
      });
    return changes.length === 0 ? undefined : spliceStrings(text, changes);
  }

  /**
   * A client's message with the upstream's own handles in the place of the bound ones.
   *
   * @throws {Denial} what `refusal` makes, for a handle of another owner or another request, or one that has expired.
   */
  unbindAll(text: string, handles: readonly Handle[], context: HandleContext, refusal: HandleRefusal): Unbound {
    const changes: Change[] = [];
    let mcpName: string | undefined;
    const tasks = new Map<string, TaskOrigin>();
    let continues: string | undefined;
    for (const handle of handles) {
      const own = this.#unbind(handle.value, handle.kind, context);
      // In a response to the server it may name a task that the client runs: the client made that id, unbound.
      if (own === undefined && handle.path[0] === 'result') continue;
      if (own === undefined) {
        throw refusal(`${handle.path.join('.')} was not given to this caller on this route, or not for this request`);
      }
      changes.push({ path: handle.path, from: handle.value, to: own.value });
      if (handle.kind === 'task') tasks.set(own.value, own.origin);
      else continues = own.origin.counted;
      if (isNamedTask(handle)) mcpName = encodedValue(own.value);
    }
    return { text: changes.length === 0 ? text : spliceStrings(text, changes), mcpName, tasks, continues };
  }

  /** Its expiry, if it is a state, the counted call and the tool, if there are any, and the handle, between dots. */
  #bind(value: string, kind: HandleKind, context: HandleContext, { counted, tool }: TaskOrigin): string {
    const parts = [Buffer.from(value).toString('base64url')];
    if (tool !== undefined) parts.unshift(TOOL + Buffer.from(tool).toString('base64url'));
    if (counted !== undefined) parts.unshift(counted);
    if (kind === 'state') parts.unshift((this.#clock() + STATE_LIFETIME_MS).toString(36));
    return this.#handles.bind(parts.join('.'), parties(kind, context));
  }

  #unbind(bound: string, kind: HandleKind, context: HandleContext): OwnHandle | undefined {
    const own = this.#handles.unbind(bound, parties(kind, context));
    if (own === undefined) return undefined;
    // parseInt stops at the dot behind the expiry.
    if (kind === 'state' && Number.parseInt(own, 36) <= this.#clock()) return undefined;
    const parts = own.split('.').slice(kind === 'state' ? 1 : 0);
    const tool = parts.find((part) => part.startsWith(TOOL));
    const value = decoded(parts.pop() ?? '');
    const counted = parts.find((part) => part !== tool);
    return { value, origin: { counted, tool: tool && decoded(tool.slice(TOOL.length)) } };
  }
}

/** What the name of a tool begins with in a handle. No other part does. */
const TOOL = '~';

function decoded(text: string): string {
  return Buffer.from(text, 'base64url').toString();
}

/** The parties of a handle: its owner, its kind, and for a state its request. */
function parties(kind: HandleKind | typeof APPROVAL, { owner, method, targets }: HandleContext): string {
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

/**
 * Binds the handles that an MCP server gives out, such as session ids, to the caller that received them. The server
 * knows no callers: without the binding, possession of a handle would be permission to use it. The client sees the
 * handle with a MAC, which the gateway verifies for its owner alone. This needs no store and works on every replica
 * with the same key.
 */
export interface OwnerBound {
  /**
   * The handle as the client sees it.
   *
   * @param owner As {@link lengthPrefixed} joins its parts.
   */
  bind(handle: string, owner: string): string;
  /** The server's own handle, or undefined where it is not `owner`'s. */
  unbind(bound: string, owner: string): string | undefined;
}

/** 128 bits: forging one takes 2^127 requests. */
const MAC_BYTES = 16;

/** Creates the binding under `key`, which only the gateway knows. */
export function createOwnerBound(key: string | Buffer): OwnerBound {
  function mac(handle: string, owner: string): Buffer {
    const text = owner + lengthPrefixed([handle]);
    return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES);
  }

  return {
    bind: (handle, owner) => `${handle}.${mac(handle, owner).toString('base64url')}`,
    unbind(bound, owner) {
      const dot = bound.lastIndexOf('.');
      if (dot === -1) return undefined;
      const handle = bound.slice(0, dot);
      // Compares the text, not the decoded bytes: padding and spare bits would give one MAC several spellings.
      const given = Buffer.from(bound.slice(dot + 1));
      const wanted = Buffer.from(mac(handle, owner).toString('base64url'));
      return given.length === wanted.length && timingSafeEqual(given, wanted) ? handle : undefined;
    },
  };
}
