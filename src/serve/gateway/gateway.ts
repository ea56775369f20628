/**
 * The composition root: builds the gateway of one configuration. It wires the steps before a route is known; the stages
 * of a route are wired in `route-stages.ts`.
 *
 * @module
 */

import { createAllowed } from '../../core/gateway/listen/allow.ts';
import { arrive, canonicalCall } from '../../core/gateway/listen/call.ts';
import { createClientBehind } from '../../core/gateway/listen/trusted-proxies.ts';
import { revocations } from '../../capabilities/all.ts';
import type { OwnEndpoint } from '../../capabilities/capability.ts';
import type { Call } from '../../core/model/call.ts';
import type { Config } from '../../ports/config.ts';
import type { Gateway, Stages } from '../../core/gateway/pipeline.ts';
import { createCrossOrigin } from '../../core/gateway/respond/cross-origin.ts';
import { createPublish } from '../../core/gateway/respond/publish.ts';
import { createRefuse } from '../../core/gateway/respond/refuse.ts';
import { canonicalTarget, createRouter } from '../../core/gateway/route/router.ts';
import {
  type ConfigScope,
  type ConfiguredGateway,
  createFailureLimit,
  createWiring,
  type ProcessScope,
} from './route-stages.ts';
import { Denial } from '../../core/model/denial.ts';

/** Builds the gateway of `config`. Sends nothing to any server yet. */
export function createGateway(config: Config, configScope: ConfigScope, processScope: ProcessScope): ConfiguredGateway {
  const { log, events, certificateOf } = processScope;
  const allowed = createAllowed(config);
  const crossOrigin = createCrossOrigin(allowed.origin);
  const wiring = createWiring(config, configScope, processScope, { allowed, crossOrigin });
  const revocation =
    revocations?.settingsOf(config) &&
    processScope.revocation?.endpoints(config, {
      requireHost: (call) => allowed.requireHost(call),
      failures: createFailureLimit(config, configScope, processScope),
      refuse: (call, denial) => recordRefusal(call, denial),
    });
  const own = ownEndpoints();
  const routed = createRouter(
    new Map([
      ...config.routes.map((route) => [route.path, wiring.ofRoute(route)] as const),
      ...own.map((each) => [each.endpoint.path, wiring.ofOwn(each)] as const),
    ]),
    ({ route }) => route.encodedSlashes === 'pass',
  );
  const clientBehind = createClientBehind(config.trustedProxies, config.certificateProxies);
  const refuse = createRefuse(undefined, { publicUrl: config.publicUrl, crossOrigin });

  const published = [
    ...(configScope.serverAnswers?.(config, configScope.clients) ?? []),
    ...(revocation === undefined ? [] : [revocation.publish]),
    ...configScope.capabilities.flatMap(({ publish }) => publish ?? []),
    createPublish(
      config,
      own.map(({ endpoint }) => endpoint),
    ),
  ];

  const gateway: Gateway = {
    arrive: (request, response) => arrive(request, response, certificateOf),
    canonical: (arrived) => canonicalCall(arrived, canonicalTarget, clientBehind),
    publish(call) {
      for (const publish of published) if (publish(call)) return true;
      return false;
    },
    route: (call) => routed(call.path),
    newest: processScope.newest,
    refuse: (call, ...refusal) => (addressed(call) ?? { refuse }).refuse(call, ...refusal),
    details: config.log.details,
    record: events.decided,
    answered: events.answered,
    failed(call, route, { reason, detail, cause }) {
      const stack = reason === 'gateway.error' && cause instanceof Error ? cause.stack : undefined;
      const level = stack === undefined ? 'warn' : 'error';
      log.event(level, 'request failed', { request_id: call.id, route: route?.name, reason, detail, stack });
    },
  };

  return {
    ...gateway,
    reconsider: (open) => routed(open.call.path).reconsider(open),
    revalidate: async (token, { path, client }) => routed(path).authentication?.revalidate(token, client),
    listeners: processScope.listeners.map((listener, index) => ({
      ...listener.gateway(gateway, { config, crossOrigin, route: (call) => stagesAt(index, call) }),
      newest: () => processScope.newest().listeners[index] as Gateway,
    })),
  };

  function stagesAt(listener: number, { path }: Call): Stages {
    const stages = routed(path).listeners[listener];
    if (stages === undefined) throw new TypeError('an endpoint has stages for each listener');
    return stages;
  }

  /** Refuses a call that no route has. */
  function recordRefusal(call: Call, denial: Denial): void {
    const decidedAt = performance.now();
    const nothing = { route: undefined, principal: undefined, attempt: undefined, rule: undefined, shadow: undefined };
    const given = refuse(call, denial, undefined);
    gateway.record({ ...nothing, call, allow: false, denial, answer: given, details: config.log.details, decidedAt });
  }

  function ownEndpoints(): readonly OwnEndpoint[] {
    const own = configScope.capabilities.flatMap(({ endpoints = [] }) => endpoints);
    own.push(...(revocation?.endpoints ?? []));
    return own;
  }

  /** The stages of the route that a refused call names, so that an MCP client gets an MCP error. Decides nothing. */
  function addressed(call: Call): Stages | undefined {
    try {
      return routed(canonicalTarget(call.request.url ?? '').path);
    } catch {
      return undefined;
    }
  }
}
