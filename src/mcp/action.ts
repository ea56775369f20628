import { requireReadAlike } from '../core/gateway/authorize/authorize.ts';
import { declaresBody } from '../core/lib/http/header-fields.ts';
import type { Call } from '../core/model/call.ts';
import { Denial } from '../core/model/denial.ts';
import type { Action } from '../core/model/grant.ts';
import { noMethod } from '../core/model/mcp.ts';
import { calledTool } from '../core/model/policy.ts';
import type { Principal } from '../core/model/principal.ts';
import type { Endpoint } from '../core/model/endpoint.ts';
import type { Bindings } from './bindings.ts';
import { type MessageLimits, readMessage } from './message.ts';
import { requireParamHeaders, type ToolHeaders } from './tool-headers.ts';

/** Reads what a call attempts. @throws {Denial} */
export type ReadAction = (call: Call, principal: Principal | undefined) => Action | Promise<Action>;

/** The dependencies of reading an MCP message. */
export interface ActionParts {
  /** Reads a whole body within the configured limit. */
  readonly readBody: (call: Call) => Promise<Buffer>;
  readonly limits: MessageLimits;
  readonly bindings: Bindings;
  /** The headers that the tools of the route's upstream declare. */
  readonly toolHeaders: ToolHeaders;
}

/** Creates the reader of an MCP route: each message decides. */
export function createActionReader(route: Pick<Endpoint, 'path' | 'query'>, parts: ActionParts): ReadAction {
  return (call, principal) => {
    // No policy reads a query, which the upstream may act on. Checked after authentication, so that a token in the
    // query counts as no token.
    if (route.query === 'refuse' && call.query !== '') {
      throw new Denial('route.query', 'a query on an MCP route without `query: pass`');
    }
    return call.method === 'POST'
      ? messageAction(call, principal, parts)
      : sessionAction(call, principal, route, parts);
  };
}

/** A GET, which opens the server's stream, or a DELETE, which ends a session (Streamable HTTP, legacy revisions). */
function sessionAction(
  call: Call,
  principal: Principal | undefined,
  route: Pick<Endpoint, 'path'>,
  { bindings }: ActionParts,
): Action {
  // Below the endpoint may be a page or an old event stream, which no policy could decide on.
  if (call.path !== route.path && call.path !== `${route.path}/`) {
    throw new Denial('route.unknown', `a ${call.method} below the endpoint of an MCP route`);
  }
  if (declaresBody(call.fields)) {
    throw new Denial('request.framing', `a ${call.method} with a body, which would pass without being read`);
  }
  const own = bindings.present(principal, call.fields, undefined);
  return {
    attempt: { kind: 'mcp', method: noMethod, targets: [], arguments: undefined },
    messageId: null,
    era: 'legacy',
    // The stream of a session belongs to its owner. Without a session a server sends to all listeners, and a task that
    // it names there must not become any caller's.
    mayYieldHandle: own.sessionId !== undefined,
    asksByUrl: false,
    trace: undefined,
    ...own,
  };
}

/** RFC 8259 §8.1: JSON is UTF-8, and a charset of that name changes nothing. */
const jsonType = /^application\/json *(?:; *charset="?utf-8"? *)?$/i;

async function messageAction(
  call: Call,
  principal: Principal | undefined,
  { readBody, limits, bindings, toolHeaders }: ActionParts,
): Promise<Action> {
  const { contentType, contentEncoding } = call.fields;
  if (contentType === undefined || !jsonType.test(contentType)) {
    throw new Denial('body.type', 'content-type is not application/json');
  }
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw new Denial('body.encoding', 'a content-encoding, which would hide the message');
  }
  const body = await readBody(call);
  const message = readMessage(body, call.fields, limits);
  const { method, targets, arguments: args, id: messageId, era, mayYieldHandle, asksByUrl, trace } = message;
  const { hasArgumentVariants, exactArguments, otherMember } = message;
  const attempt = { kind: 'mcp', method, targets, arguments: args, exactArguments, otherMember } as const;
  const tool = calledTool(attempt);
  if (era === 'modern' && tool !== undefined) {
    const declared = toolHeaders.of(tool);
    requireParamHeaders(declared, args, call.fields, messageId);
    const repeated = declared.map(({ path }) => path);
    requireReadAlike({ hasArgumentVariants, attempt, messageId }, repeated);
  }
  const own = bindings.present(principal, call.fields, { message, body });
  return { attempt, messageId, hasArgumentVariants, era, mayYieldHandle, asksByUrl, trace, ...own };
}
