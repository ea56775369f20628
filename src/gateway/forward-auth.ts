/**
 * The same decisions for who has a proxy already: its question goes the path of the request that it is about, and the last
 * step says what to forward instead of forwarding.
 *
 * @module
 */

import { createActionReader } from '../authorize/action.ts';
import { createPermitHeaders } from '../forward/permit-headers.ts';
import type { SignIdentity } from '../forward/identity-headers.ts';
import { declaresBody } from '../http/header-fields.ts';
import { arrive } from '../listen/call.ts';
import { originalCall } from '../listen/original-request.ts';
import { createIsWithin } from '../lib/ip-address.ts';
import { createClientBehind } from '../listen/trusted-proxies.ts';
import { createHandleBinding } from '../mcp/handles-binding.ts';
import type { OwnerBound } from '../mcp/owner-bound.ts';
import type { ToolHeaders } from '../mcp/tool-headers.ts';
import type { Call } from '../model/call.ts';
import type { Config } from '../model/config.ts';
import { Denial } from '../model/denial.ts';
import { fieldValues } from '../model/fields.ts';
import type { Gateway, Stages } from '../pipeline.ts';
import { answer } from '../respond/answer.ts';
import type { CrossOrigin } from '../respond/cross-origin.ts';
import { createRefuse } from '../respond/refuse.ts';
import { methodsOf } from '../route/admit.ts';
import { canonicalTarget } from '../route/target.ts';

/** What the stages of a route need in order to answer proxies. */
interface ForwardAuthParts {
  /** Reads a whole body within the configured limit. */
  readonly readBody: (call: Call) => Promise<Buffer>;
  readonly publicUrl: string;
  readonly crossOrigin: CrossOrigin;
  /** The names of the identity headers of all routes, as `identityNames` returns them. */
  readonly claimed: ReadonlySet<string>;
  readonly toolHeaders: ToolHeaders;
  readonly signIdentity: SignIdentity | undefined;
  /** The value of `DPoP-Nonce`, where the route requires one. */
  readonly nonce: (() => string) | undefined;
}

/**
 * Whoever answers for a session or a task must see the answers in which they are given out. Here nobody does: none is
 * known.
 */
const nobodys: OwnerBound = { bind: (handle) => handle, unbind: () => undefined };

/**
 * Streams that are opened by a GET would outlive their token, and sessions that are ended by a DELETE are not known here.
 * Neither shows whether it has a body, which would pass unread.
 */
const decidableMethods: ReadonlySet<string> = new Set(['POST']);

/** The stages of a route for questions about it: all of them but the last are those that forward. */
export function createForwardAuthStages(
  stages: Stages,
  { readBody, publicUrl, crossOrigin, claimed, toolHeaders, signIdentity, nonce }: ForwardAuthParts,
): Stages {
  const { route } = stages;
  const isMcp = route.protocol === 'mcp';
  const permit = createPermitHeaders(route, claimed, signIdentity);
  const readAction = createActionReader(route, {
    readBody,
    sessions: nobodys,
    handles: createHandleBinding(nobodys, Date.now),
    toolHeaders,
  });
  const methods = isMcp ? decidableMethods : methodsOf(route);

  return {
    ...stages,
    // Its answer is a success, with which the proxy would forward the request.
    preflight: () => false,
    admit(call) {
      const { upgrade } = call.fields;
      stages.admit(call);
      if (upgrade !== undefined) stages.admitUpgrade(call);
      // We would serve it as the plain request that it also is; a proxy may hand it on (h2c smuggling).
      if (upgrade !== undefined && upgrade.toLowerCase() !== 'websocket') {
        throw new Denial('route.upgrade', 'an upgrade to something else than WebSocket');
      }
      if (isMcp && !decidableMethods.has(call.method)) {
        throw new Denial('route.method', `${call.method} on an MCP route: its stream needs the gateway in between`);
      }
      permit.requireUnclaimed(call);
    },
    readAction(call, principal) {
      if (isMcp) requireMessage(call);
      return readAction(call, principal);
    },
    forward({ call, grant, credential }) {
      const headers = permit.of(call, grant, credential);
      answer(call, 200, { ...headers, 'Cache-Control': 'no-store' });
      return Promise.resolve();
    },
    forwardUpgrade() {
      throw new TypeError('a question is no upgrade');
    },
    refuse: createRefuse(route, { methods, publicUrl, crossOrigin, nonce }),
  };
}

/** An MCP message is decided on by what it says, all of it, and by nothing that only the gateway could keep. */
function requireMessage({ fields }: Call): void {
  const { mcpSessionId, lastEventId } = fields;
  if (mcpSessionId !== undefined) {
    throw new Denial('session.unknown', 'sessions need the gateway in between: it binds them where they are given out');
  }
  if (lastEventId !== undefined) {
    throw new Denial('handle.unknown', 'streams that are resumed need the gateway in between: it binds their events');
  }
  if (!declaresBody(fields)) {
    throw new Denial('forward_auth.body', 'the proxy shows no body: an MCP message cannot be decided on');
  }
  // Envoy says so where `allow_partial_message` cuts a body off; what is left may still be a message.
  const [partial = 'false'] = fieldValues(fields, 'x-envoy-auth-partial-body');
  if (partial !== 'false') {
    throw new Denial('body.incomplete', 'the proxy shows a part of the body');
  }
}

/**
 * Answers proxies: from who may ask, by the request that is asked about. Of the decisions nothing is its own.
 *
 * @param gateway What serves clients.
 * @param route As the gateway's, with {@link createForwardAuthStages}.
 */
export function createForwardAuth(
  gateway: Gateway,
  route: Gateway['route'],
  { config, crossOrigin }: { readonly config: Config; readonly crossOrigin: CrossOrigin },
): Gateway {
  const trusted = config.forwardAuth?.trusted ?? [];
  const mayAsk = createIsWithin(trusted);
  // A proxy that may ask reports the client's address. It need not remove a `Client-Cert` that the client wrote.
  const clientBehind = createClientBehind([...trusted, ...config.trustedProxies], config.certificateProxies);

  return {
    ...gateway,
    // The certificate of this connection, if there were one, would be the proxy's.
    arrive: (request, response) => arrive(request, response, () => undefined),
    canonical(arrived) {
      if (!mayAsk(arrived.peer)) throw new Denial('forward_auth.peer', 'not among forward_auth.trusted');
      return originalCall(arrived, canonicalTarget, clientBehind);
    },
    // A success would let the request pass, to the proxy's own upstream.
    publish: () => false,
    route,
    refuse: createRefuse(undefined, { publicUrl: config.publicUrl, crossOrigin }),
  };
}
