import { declaresBody } from '../http/header-fields.ts';
import type { HandleBinding, Refusal } from '../mcp/handles-binding.ts';
import { createsNoTask } from '../mcp/handles.ts';
import { readMessage, tasksRequired, type Message } from '../mcp/message.ts';
import type { OwnerBound } from '../mcp/owner-bound.ts';
import { requireParamHeaders, type ToolHeaders } from '../mcp/tool-headers.ts';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Action } from '../model/grant.ts';
import { mcpMethod } from '../model/mcp-methods.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { eventOwner, ownerOf } from './owner.ts';

/** Finds out what a call attempts. The caller comes first: nobody's body is read before it is known whose it is. */
export type ReadAction = (call: Call, principal: Principal | undefined) => Action | Promise<Action>;

/** What reading an MCP message needs. */
export interface ActionParts {
  /** Reads a whole body within the configured limit. */
  readonly readBody: (call: Call) => Promise<Buffer>;
  readonly sessions: OwnerBound;
  readonly handles: HandleBinding;
  /** Of the route's upstream. */
  readonly toolHeaders: ToolHeaders;
}

const httpAction: Action = {
  attempt: { kind: 'http' },
  messageId: null,
  era: undefined,
  sessionId: undefined,
  lastEventId: undefined,
  mcpName: undefined,
  mayYieldHandle: false,
  trace: undefined,
  tasks: undefined,
  body: undefined,
};

/** Creates the reader for a route: an HTTP route is decided on by its head alone, an MCP route by each message. */
export function createActionReader(route: Route, parts: ActionParts): ReadAction {
  if (route.protocol === 'http') return () => httpAction;
  return (call, principal) => {
    // A query steers the upstream and no policy reads it. After authentication: a token in a query counts as none.
    if (route.query === 'refuse' && call.query !== '') {
      throw new Denial('route.query', 'a query on an MCP route without `query: pass`');
    }
    return call.method === 'POST'
      ? messageAction(call, principal, route, parts)
      : sessionAction(call, principal, route, parts);
  };
}

/** A GET opens the server's stream and a DELETE ends a session (Streamable HTTP, legacy revisions): no message. */
function sessionAction(call: Call, principal: Principal | undefined, route: Route, { sessions }: ActionParts): Action {
  // A page or an old event stream below the endpoint is no message, and nobody could decide on it.
  if (call.path !== route.path && call.path !== `${route.path}/`) {
    throw new Denial('route.unknown', `a ${call.method} below the endpoint of an MCP route`);
  }
  if (declaresBody(call.fields)) {
    throw new Denial('request.framing', `a ${call.method} with a body, which would pass without being read`);
  }
  const sessionId = ownSession(call, principal, route, sessions, null);
  return {
    attempt: { kind: 'mcp', method: undefined, targets: [], arguments: undefined },
    messageId: null,
    era: 'legacy',
    sessionId,
    lastEventId: ownEvent(call, principal, route, sessions, sessionId, null),
    mcpName: undefined,
    // In a session the stream is its owner's. Without one a server speaks to everybody who listens, and the tasks that
    // it tells of there must not become anybody's.
    mayYieldHandle: sessionId !== undefined,
    trace: undefined,
    tasks: undefined,
    body: undefined,
  };
}

/** RFC 8259 §8.1: JSON is UTF-8; a charset that says so changes nothing. */
const jsonType = /^application\/json *(?:; *charset="?utf-8"? *)?$/i;

async function messageAction(
  call: Call,
  principal: Principal | undefined,
  route: Route,
  { readBody, sessions, handles, toolHeaders }: ActionParts,
): Promise<Action> {
  const { contentType, contentEncoding } = call.fields;
  if (contentType === undefined || !jsonType.test(contentType)) {
    throw new Denial('body.type', 'content-type is not application/json');
  }
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw new Denial('body.encoding', 'a content-encoding, which would hide the message');
  }
  const body = await readBody(call);
  const message = readMessage(body, call.fields);
  const isModern = message.era === 'modern';
  if (isModern) {
    const { targets, arguments: args, id } = message;
    for (const { kind, name } of targets) {
      if (kind === 'tool') requireParamHeaders(toolHeaders.of(name), args, call.fields, id);
    }
  }
  const sessionId = isModern ? undefined : ownSession(call, principal, route, sessions, message.id);
  const own = ownHandles(body, message, ownerOf(route, principal), handles, call.fields.mcpName);
  return {
    attempt: { kind: 'mcp', method: message.method, targets: message.targets, arguments: message.arguments },
    messageId: message.id,
    era: message.era,
    // MCP 2026-07-28 has no sessions and no streams that are resumed: the headers are ignored, and go nowhere.
    sessionId,
    lastEventId: isModern ? undefined : ownEvent(call, principal, route, sessions, sessionId, message.id),
    mcpName: own.mcpName,
    mayYieldHandle: message.mayYieldHandle,
    trace: message.trace,
    tasks: createsNoTask(message.method) ? own.tasks : undefined,
    body: own.body,
  };
}

/**
 * @throws {Denial} `handle.unknown` for a task or state that the gateway did not give to this caller, or
 *   `message.capability` where the server would refuse the request before it looked at the task; `message.header_mismatch` for a task that only `Mcp-Name` names, which would go on as it came.
 */
function ownHandles(
  body: Buffer,
  message: Message,
  owner: string,
  handles: HandleBinding,
  named: string | undefined,
): Pick<Action, 'mcpName' | 'tasks' | 'body'> {
  const { handles: presented, id, method, targets } = message;
  const none = { text: undefined, mcpName: undefined, tasks: new Set<string>() };
  const { text, mcpName, tasks } =
    presented.length === 0
      ? none
      : handles.unbindAll(body.toString(), presented, { owner, method, targets }, refusalOf(message));
  if (named !== undefined && mcpName === undefined && mcpMethod(method).isTask) {
    throw new Denial('message.header_mismatch', 'Mcp-Name names a task, the body names none', { messageId: id });
  }
  return { mcpName, tasks, body: text === undefined ? body : Buffer.from(text) };
}

/**
 * How a handle that is not the caller's is refused. SEP-2663 §Capability: a server answers -32021 to a client that does not
 * declare the Tasks extension, whatever the task. It would do so behind the gateway, which cannot ask it about a handle
 * that may be another caller's. Where the handle is the caller's own, the server decides.
 */
function refusalOf({ method, era, id: messageId, declaresTasks }: Message): Refusal {
  if (era === 'modern' && mcpMethod(method).isTask && !declaresTasks) {
    return () =>
      new Denial('message.capability', 'the client does not declare tasks', { messageId, data: tasksRequired });
  }
  return (detail) => new Denial('handle.unknown', detail, { messageId });
}

/** @throws {Denial} `session.unknown` for a session that was given to somebody else, or to nobody. */
function ownSession(
  call: Call,
  principal: Principal | undefined,
  route: Route,
  sessions: OwnerBound,
  messageId: Message['id'],
): string | undefined {
  const { mcpSessionId } = call.fields;
  if (mcpSessionId === undefined) return undefined;
  const session = sessions.unbind(mcpSessionId, ownerOf(route, principal));
  if (session !== undefined) return session;
  throw new Denial('session.unknown', 'not a session of this person on this route', { messageId });
}

/** @throws {Denial} `handle.unknown` for an event of another caller's stream, or of another session. */
function ownEvent(
  call: Call,
  principal: Principal | undefined,
  route: Route,
  sessions: OwnerBound,
  sessionId: string | undefined,
  messageId: Message['id'],
): string | undefined {
  const { lastEventId } = call.fields;
  if (lastEventId === undefined) return undefined;
  const event = sessions.unbind(lastEventId, eventOwner(route, principal, sessionId));
  if (event !== undefined) return Buffer.from(event, 'base64url').toString('latin1');
  throw new Denial('handle.unknown', 'Last-Event-ID is not of an event that this caller got in this session', {
    messageId,
  });
}
