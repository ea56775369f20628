import { lengthPrefixed } from '../lib/length-prefixed.ts';
import { withoutMembers } from '../lib/json/splice-strings.ts';
import { Denial } from '../model/denial.ts';
import type { Fields } from '../model/fields.ts';
import type { Action, Grant } from '../model/grant.ts';
import { type McpMethod, noMethod } from '../model/mcp.ts';
import type { McpTarget } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import type { HandleBinding, HandleRefusal } from './handles-binding.ts';
import { createsNoTask, type Handle } from './handles.ts';
import { tasksRequired, type Message } from './message.ts';
import type { OwnerBound } from './owner-bound.ts';

/** What bindings are made with. */
export interface BindingParts {
  readonly sessions: OwnerBound;
  readonly handles: HandleBinding;
  /** Makes a name that no other call has. */
  readonly uuid: () => string;
}

/** What a client presents besides its message. */
type PresentedFields = Pick<Fields, 'mcpSessionId' | 'lastEventId' | 'mcpName'>;

/** A message that a client presents, with its bytes. */
interface Received {
  readonly message: Message;
  readonly body: Buffer;
}

/** The upstream's own names for what a call presents. */
type OwnNames = OwnHandles & Pick<Action, 'sessionId' | 'lastEventId'>;
type OwnHandles = Pick<Action, 'mcpName' | 'tasks' | 'continues' | 'body'>;

/**
 * What an upstream gives out on one route and a client presents later: sessions, the events of their streams, tasks,
 * and the state of a request. Each is bound to its owner when it is given, and is the upstream's own again when its
 * owner presents it.
 */
export class Bindings {
  readonly #route: Pick<Route, 'name' | 'protocol'>;
  readonly #parts: BindingParts;

  constructor(route: Pick<Route, 'name' | 'protocol'>, parts: BindingParts) {
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
    const sessionId = isModern ? undefined : this.#session(principal, fields, messageId);
    const handles = received === undefined ? noHandles : this.#handles(principal, fields, received);
    const lastEventId = isModern ? undefined : this.#event(principal, fields, { sessionId, messageId });
    return { ...handles, sessionId, lastEventId };
  }

  /** The `Mcp-Session-Id` that the client gets. On an HTTP route the header has no meaning and passes unchanged. */
  giveSession(theirs: string, { principal, action }: Grant): string | undefined {
    if (this.#route.protocol === 'http') return theirs;
    return action.era === 'modern' ? undefined : this.#parts.sessions.bind(theirs, this.#owner(principal));
  }

  /**
   * Makes the ids of the events of a stream that the client gets. A server resumes a stream by an id alone, and some
   * servers number the events of all sessions in one sequence: with the next number a client would read another's
   * events.
   */
  giveEventIds({ principal }: Grant, sessionId: string | undefined): (id: string) => string {
    // At the first id: most streams have none.
    let owner: string | undefined;
    return (id) => {
      owner ??= this.#eventOwner(principal, sessionId);
      return this.#parts.sessions.bind(Buffer.from(id, 'latin1').toString('base64url'), owner);
    };
  }

  /**
   * The message of an upstream with the handles that the client gets; undefined where there are none. A task becomes
   * the caller's only when it is created: an answer that names other tasks, as a list does, gives none out.
   *
   * @param counted The counted call that is answered.
   */
  giveHandles(text: string, { principal, action }: Grant, counted: string | undefined): string | undefined {
    const { attempt, tasks } = action;
    const { method, targets } = attempt.kind === 'mcp' ? attempt : { method: noMethod, targets: [] };
    const context = { owner: this.#owner(principal), method: method.name, targets, counted };
    return this.#parts.handles.bindAll(text, context, tasks);
  }

  /** The state that a client sends back to repeat a call that a person has to approve. It gives no access. */
  giveApprovalState({ principal, action: { attempt } }: Grant): string {
    const { method, targets } = attempt.kind === 'mcp' ? attempt : { method: noMethod, targets: [] };
    return this.#parts.sessions.bind(APPROVAL, this.#approvalOwner(principal, method, targets));
  }

  #approvalOwner(principal: Principal | undefined, method: McpMethod, targets: readonly McpTarget[]): string {
    const names = targets.flatMap(({ kind, name }) => [kind, name]);
    return this.#owner(principal) + lengthPrefixed([APPROVAL, method.name ?? '', ...names]);
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

  #session(
    principal: Principal | undefined,
    { mcpSessionId }: PresentedFields,
    messageId: Message['id'],
  ): string | undefined {
    if (mcpSessionId === undefined) return undefined;
    const session = this.#parts.sessions.unbind(mcpSessionId, this.#owner(principal));
    if (session !== undefined) return session;
    throw new Denial('session.unknown', 'Mcp-Session-Id was not given to this caller on this route', { messageId });
  }

  #event(
    principal: Principal | undefined,
    { lastEventId }: PresentedFields,
    { sessionId, messageId }: { readonly sessionId: string | undefined; readonly messageId: Message['id'] },
  ): string | undefined {
    if (lastEventId === undefined) return undefined;
    const event = this.#parts.sessions.unbind(lastEventId, this.#eventOwner(principal, sessionId));
    if (event !== undefined) return Buffer.from(event, 'base64url').toString('latin1');
    const detail = 'Last-Event-ID was not given to this caller in this session';
    throw new Denial('handle.unknown', detail, { messageId });
  }

  #handles(
    principal: Principal | undefined,
    { mcpName: named }: PresentedFields,
    { message, body }: Received,
  ): OwnHandles {
    const { handles: presented, id, method, targets } = message;
    let own: OwnHandles = { ...noHandles, tasks: noTasks, body };
    const isOurs = ({ kind, value }: Handle): boolean =>
      kind === 'state' &&
      this.#parts.sessions.unbind(value, this.#approvalOwner(principal, method, targets)) !== undefined;
    const theirs = presented.filter((handle) => !isOurs(handle));
    if (theirs.length < presented.length) {
      // The upstream has asked for nothing: neither the state nor an answer reaches it.
      own = {
        ...own,
        body: Buffer.from(withoutMembers(body.toString(), 'params', ['requestState', 'inputResponses'])),
      };
    }
    // Few messages present a handle.
    if (theirs.length > 0) {
      const context = { owner: this.#owner(principal), method: method.name, targets };
      const { text, ...names } = this.#parts.handles.unbindAll(String(own.body), theirs, context, refusalOf(message));
      own = { ...names, body: Buffer.from(text) };
    }
    if (named !== undefined && own.mcpName === undefined && method.isTask) {
      throw new Denial('message.header_mismatch', 'Mcp-Name names a task and the body names none', { messageId: id });
    }
    return createsNoTask(method) ? own : { ...own, tasks: undefined };
  }
}

/** What our own state says. */
const APPROVAL = 'approval';

const noHandles = { mcpName: undefined, tasks: undefined, continues: undefined, body: undefined };
const noTasks: ReadonlyMap<string, undefined> = new Map();

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
