/**
 * The same decisions for deployments that keep their existing proxy. The proxy asks about a request, and the gateway
 * decides on that request by the same stages. Instead of forwarding it, the last stage answers with the headers to add.
 *
 * @module
 */

import { declaresBody } from '../../core/lib/http/header-fields.ts';
import { arrive } from '../../core/gateway/listen/call.ts';
import { originalCall } from './original-request.ts';
import { createIsWithin } from '../../core/lib/ip-address.ts';
import { createClientBehind } from '../../core/gateway/listen/trusted-proxies.ts';
import type { Call } from '../../core/model/call.ts';
import type { Address } from '../../core/model/listen.ts';
import { Denial } from '../../core/model/denial.ts';
import { fieldValues } from '../../core/model/fields.ts';
import type { Gateway, Stages } from '../../core/gateway/pipeline.ts';
import type { Route } from '../../core/model/route.ts';
import { answer } from '../../core/gateway/respond/answer.ts';
import { createRefuse } from '../../core/gateway/respond/refuse.ts';
import { methodsOf } from '../../core/gateway/route/admit.ts';
import { canonicalTarget } from '../../core/gateway/route/router.ts';
import type { ListenerParts, ListenerRouteParts, OwnListener } from '../capability.ts';
import { createPermitHeaders } from './permit-headers.ts';
import { reasons } from './reasons.ts';
import { forwardAuth } from './settings.ts';

/** The listener where proxies ask. @param address Where it listens. */
export function createListener(address: Address): OwnListener {
  return {
    name: 'forward_auth',
    title: 'proxies ask',
    address,
    trusted: (config) => forwardAuth.of(config)?.trusted ?? [],
    stagesOf: createForwardAuthStages,
    ownStagesOf: (stages) => ({
      ...stages,
      allow() {
        throw new Denial('route.unknown', 'no proxy asks about an endpoint of the gateway');
      },
    }),
    gateway: createForwardAuth,
  };
}

/**
 * The methods of an MCP route that can be decided here. A GET opens a stream, which could outlive its token. A DELETE
 * ends a session, which is not known here. The question also does not show whether either has a body.
 */
const decidableMethods: ReadonlySet<string> = new Set(['POST']);

/** Creates the stages for questions about the calls of a route: they decide as `stages` do, and do not forward. */
function createForwardAuthStages(
  stages: Stages & { readonly route: Route },
  { readAction, publicUrl, crossOrigin, claimed, states, nonce }: ListenerRouteParts,
): Stages {
  const { route } = stages;
  const isMcp = route.protocol === 'mcp';
  const permit = createPermitHeaders(route, claimed, states);
  const methods = isMcp ? decidableMethods : methodsOf(route);

  return {
    ...stages,
    // A preflight is answered with success, at which the proxy would forward the request.
    preflight: () => false,
    admit(call) {
      const { upgrade } = call.fields;
      stages.admit(call);
      if (upgrade !== undefined) stages.admitUpgrade(call);
      // The gateway itself would serve it as a plain request; a proxy may forward the upgrade (h2c smuggling).
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
    gates: stages.gates.map((gate) => gate.ofQuestions ?? gate),
    forward({ call, grant, credential, counted }) {
      const headers = permit.of(call, grant, credential);
      // The proxy gets the upstream's answer, and the gateway does not.
      counted?.settle('unanswered');
      answer(call, 200, { ...headers, 'Cache-Control': 'no-store' });
      return Promise.resolve();
    },
    forwardUpgrade() {
      throw new TypeError('a question is no upgrade');
    },
    // Without `toolErrorPath`: the proxy would take the 200 of a tool result for a permission.
    refuse: createRefuse(route, { methods, publicUrl, crossOrigin, nonce }),
  };
}

/** Requires a whole MCP message, and nothing that only a gateway in between could bind to its caller. */
function requireMessage({ fields }: Call): void {
  const { mcpSessionId, lastEventId } = fields;
  if (mcpSessionId !== undefined) {
    throw new Denial('session.unknown', 'sessions need the gateway in between: it binds them where they are given out');
  }
  if (lastEventId !== undefined) {
    throw new Denial('handle.unknown', 'streams that are resumed need the gateway in between: it binds their events');
  }
  if (!declaresBody(fields)) {
    throw new Denial(reasons['forward_auth.body'], 'the proxy shows no body: an MCP message cannot be decided on');
  }
  // Envoy sends it if `allow_partial_message` cuts a body off; the rest may still be a valid message.
  const [partial = 'false'] = fieldValues(fields, 'x-envoy-auth-partial-body');
  if (partial !== 'false') {
    throw new Denial('body.incomplete', 'the proxy shows a part of the body');
  }
}

/**
 * Answers the questions of proxies that are allowed to ask. The decisions are those of the gateway for clients.
 *
 * @param gateway The gateway for clients.
 */
function createForwardAuth(gateway: Gateway, { config, crossOrigin, route }: ListenerParts): Gateway {
  const trusted = forwardAuth.of(config)?.trusted ?? [];
  const mayAsk = createIsWithin(trusted);
  // A proxy that may ask is trusted to report the client's address, but not to remove a forged `Client-Cert`.
  const clientBehind = createClientBehind([...trusted, ...config.trustedProxies], config.certificateProxies);

  return {
    ...gateway,
    // A certificate of this connection would be the proxy's.
    arrive: (request, response) => arrive(request, response, () => undefined),
    canonical(arrived) {
      if (!mayAsk(arrived.peer)) throw new Denial(reasons['forward_auth.peer'], 'not among forward_auth.trusted');
      return originalCall(arrived, canonicalTarget, clientBehind);
    },
    // At a success the proxy would forward the request to its upstream.
    publish: () => false,
    route,
    refuse: createRefuse(undefined, { publicUrl: config.publicUrl, crossOrigin }),
  };
}
