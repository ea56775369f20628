import type { Clock } from '../../lib/clock.ts';
import { Denial } from '../../model/denial.ts';
import type { Action, Grant } from '../../model/grant.ts';
import { withGatewayClaims } from '../../model/gateway-claims.ts';
import type { Principal } from '../../model/principal.ts';
import type { Endpoint } from '../../model/route.ts';
import { hasCaseVariantAt } from '../../lib/json/own-member.ts';
import { declaresBody } from '../../lib/http/header-fields.ts';
import type { Bindings } from '../../../mcp/bindings.ts';
import { type MessageLimits, readMessage } from '../../../mcp/message.ts';
import { requireParamHeaders, type ToolHeaders } from '../../../mcp/tool-headers.ts';
import type { Call } from '../../model/call.ts';
import { noMethod } from '../../model/mcp.ts';
import { argumentsOf, calledTool } from '../../model/policy.ts';

const anyValidToken = { allow: true, rule: '', plan: undefined } as const;

/**
 * Creates the decision of a route, as a guard: a forgotten `if` fails closed. It caches nothing, so that a new policy
 * applies to cached tokens too.
 *
 * @param isAsked Whether a capability reads all arguments of a call; default: the policy alone reads them.
 * @returns a function that throws {Denial} with the policy's own reason, or `body.ambiguous` where an argument is read
 *   whose key has a variant in another case.
 */
export function createAuthorize(
  route: Pick<Endpoint, 'name' | 'policy' | 'public'>,
  clock: Clock,
  isAsked = false,
): (principal: Principal | undefined, action: Action) => Grant {
  const { policy } = route;
  if (policy === undefined) {
    return (principal, action) => {
      if (!route.public) requirePrincipal(route, principal);
      if (isAsked) requireReadAlike(action, wholeArguments);
      return { principal, action, decision: anyValidToken };
    };
  }
  const { readsGatewayClaims } = policy;
  return (verified, action) => {
    requirePrincipal(route, verified);
    const principal = readsGatewayClaims ? withGatewayClaims(verified, clock) : verified;
    const decision = policy.decide(principal, action.attempt);
    if (!decision.allow) throw Denial.of(decision.denial);
    if (action.hasArgumentVariants === true)
      requireReadAlike(action, isAsked ? wholeArguments : decision.plan.argumentsRead(action.attempt));
    return { principal, action, decision };
  };
}

const wholeArguments = [[]];

/**
 * The guarantee that the upstream finds the arguments that were decided on. Many servers ignore the case of keys.
 *
 * @throws {Denial} `body.ambiguous`
 */
function requireReadAlike(
  action: Pick<Action, 'hasArgumentVariants' | 'attempt' | 'messageId'>,
  paths: readonly (readonly string[])[],
): void {
  const { hasArgumentVariants = false, attempt, messageId } = action;
  if (!hasArgumentVariants || !paths.some((path) => hasCaseVariantAt(argumentsOf(attempt), path))) return;
  throw new Denial('body.ambiguous', 'an argument that is read has a key that differs from another only in case', {
    messageId,
  });
}

/** Only a public route serves without a principal. On any other route a missing one is a bug, and must not pass. */
function requirePrincipal(
  { name }: Pick<Endpoint, 'name'>,
  principal: Principal | undefined,
): asserts principal is Principal {
  if (principal === undefined) throw new TypeError(`route ${name}: no principal`);
}

/** The dependencies of reading an MCP message. */
export interface ActionParts {
  /** Reads a whole body within the configured limit. */
  readonly readBody: (call: Call) => Promise<Buffer>;
  readonly limits: MessageLimits;
  readonly bindings: Bindings;
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
  asksByUrl: false,
  trace: undefined,
  tasks: undefined,
  continues: undefined,
  body: undefined,
};

/** Creates the reader of an HTTP endpoint: the header section decides. */
export function createRequestReader({ policy }: Pick<Endpoint, 'policy'>): (call: Call) => Action {
  if (policy?.listsRequests !== true) return () => httpAction;
  // The path is the canonical one, which the upstream gets too.
  return ({ method, path }) => ({ ...httpAction, attempt: { kind: 'http', request: `${method} ${path}` } });
}

/** Creates the reader of a route. On an HTTP route the header section decides, on an MCP route each message. */
export function createActionReader(
  route: Endpoint,
  parts: ActionParts,
): (call: Call, principal: Principal | undefined) => Action | Promise<Action> {
  if (route.protocol === 'http') return createRequestReader(route);
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
  route: Endpoint,
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
  const { hasArgumentVariants, exactArguments } = message;
  const attempt = { kind: 'mcp', method, targets, arguments: args, exactArguments } as const;
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
