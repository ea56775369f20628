import { declaresBody } from '../../lib/http/header-fields.ts';
import type { HandleBinding, Refusal } from '../../mcp/handles-binding.ts';
import { createsNoTask } from '../../mcp/handles.ts';
import { readMessage, tasksRequired, type Message } from '../../mcp/message.ts';
import type { OwnerBound } from '../../mcp/owner-bound.ts';
import { requireParamHeaders, type ToolHeaders } from '../../mcp/tool-headers.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { Action } from '../../model/grant.ts';
import { noMethod } from '../../model/mcp.ts';
import type { Principal } from '../../model/principal.ts';
import type { Route } from '../../model/route.ts';
import { eventOwner, ownerOf } from './owner.ts';

/** Reads what a call attempts. The gateway knows the caller before it reads the body. */
export type ReadAction = (call: Call, principal: Principal | undefined) => Action | Promise<Action>;

/** The dependencies of reading an MCP message. */
export interface ActionParts {
  /** Reads a whole body within the configured limit. */
  readonly readBody: (call: Call) => Promise<Buffer>;
  readonly sessions: OwnerBound;
  readonly handles: HandleBinding;
  /** The headers that the tools of the route's upstream declare. */
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
  continues: undefined,
  body: undefined,
};

/** Creates the reader of a route. On an HTTP route the header section decides, on an MCP route each message. */
export function createActionReader(route: Route, parts: ActionParts): ReadAction {
  if (route.protocol === 'http') return () => httpAction;
  return (call, principal) => {
    // No policy reads a query, which the upstream may act on. Checked after authentication, so that a token in the
    // query counts as no token.
    if (route.query === 'refuse' && call.query !== '') {
      throw new Denial('route.query', 'a query on an MCP route without `query: pass`');
    }
    return call.method === 'POST'
      ? messageAction(call, principal, route, parts)
      : sessionAction(call, principal, route, parts);
  };
}

/** A GET, which opens the server's stream, or a DELETE, which ends a session (Streamable HTTP, legacy revisions). */
function sessionAction(call: Call, principal: Principal | undefined, route: Route, { sessions }: ActionParts): Action {
  // Below the endpoint may be a page or an old event stream, which no policy could decide on.
  if (call.path !== route.path && call.path !== `${route.path}/`) {
    throw new Denial('route.unknown', `a ${call.method} below the endpoint of an MCP route`);
  }
  if (declaresBody(call.fields)) {
    throw new Denial('request.framing', `a ${call.method} with a body, which would pass without being read`);
  }
  const sessionId = ownSession(call, principal, route, sessions, null);
  return {
    attempt: { kind: 'mcp', method: noMethod, targets: [], arguments: undefined },
    messageId: null,
    era: 'legacy',
    sessionId,
    lastEventId: ownEvent(call, principal, route, sessions, sessionId, null),
    mcpName: undefined,
    // The stream of a session belongs to its owner. Without a session a server sends to all listeners, and a task that
    // it names there must not become any caller's.
    mayYieldHandle: sessionId !== undefined,
    trace: undefined,
    tasks: undefined,
    continues: undefined,
    body: undefined,
  };
}

/** RFC 8259 §8.1: JSON is UTF-8, and a charset of that name changes nothing. */
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
  const own = ownHandles(body, message, () => ownerOf(route, principal), handles, call.fields.mcpName);
  return {
    attempt: { kind: 'mcp', method: message.method, targets: message.targets, arguments: message.arguments },
    messageId: message.id,
    era: message.era,
    // MCP 2026-07-28 has neither sessions nor resumed streams: the gateway drops both headers.
    sessionId,
    lastEventId: isModern ? undefined : ownEvent(call, principal, route, sessions, sessionId, message.id),
    mcpName: own.mcpName,
    mayYieldHandle: message.mayYieldHandle,
    trace: message.trace,
    tasks: createsNoTask(message.method) ? own.tasks : undefined,
    continues: own.continues,
    body: own.body,
  };
}

const noHandles = { text: undefined, mcpName: undefined, tasks: new Map<string, undefined>(), continues: undefined };

/**
 * The message with the upstream's own handles.
 *
 * @param owner Called only for a message that presents a handle: few do.
 * @throws {Denial} `handle.unknown` for a task or state that the gateway did not give to this caller, or
 *   `message.capability` where the server would refuse the request before it looked at the task;
 *   `message.header_mismatch` for a task that only `Mcp-Name` names, since that header would pass unchanged.
 */
function ownHandles(
  body: Buffer,
  message: Message,
  owner: () => string,
  handles: HandleBinding,
  named: string | undefined,
): Pick<Action, 'mcpName' | 'tasks' | 'continues' | 'body'> {
  const { handles: presented, id, method, targets } = message;
  const { text, mcpName, tasks, continues } =
    presented.length === 0
      ? noHandles
      : handles.unbindAll(
          body.toString(),
          presented,
          { owner: owner(), method: method.name, targets },
          refusalOf(message),
        );
  if (named !== undefined && mcpName === undefined && method.isTask) {
    throw new Denial('message.header_mismatch', 'Mcp-Name names a task and the body names none', { messageId: id });
  }
  return { mcpName, tasks, continues, body: text === undefined ? body : Buffer.from(text) };
}

/**
 * The refusal of a handle that is not the caller's. SEP-2663 §Capability: a server answers -32021 to a client that does
 * not declare the Tasks extension, whatever the task. The gateway answers so itself, because it must not forward a
 * handle that may be another caller's. For a handle of the caller's own the server decides.
 */
function refusalOf({ method, era, id: messageId, declaresTasks }: Message): Refusal {
  if (era === 'modern' && method.isTask && !declaresTasks) {
    return () =>
      new Denial('message.capability', 'the client does not declare tasks', { messageId, data: tasksRequired });
  }
  return (detail) => new Denial('handle.unknown', detail, { messageId });
}

/** The upstream's own session id. @throws {Denial} `session.unknown` for a session that is not this caller's. */
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
  throw new Denial('session.unknown', 'Mcp-Session-Id was not given to this caller on this route', { messageId });
}

/** The upstream's own event id. @throws {Denial} `handle.unknown` for an event of another caller or session. */
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
  throw new Denial('handle.unknown', 'Last-Event-ID was not given to this caller in this session', {
    messageId,
  });
}
