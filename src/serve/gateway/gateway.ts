/**
 * The composition root: builds the gateway of one configuration. It wires the steps before a route is known; the stages
 * of a route are wired in `route-stages.ts`, the questions of proxies in `forward-auth.ts`.
 *
 * @module
 */

import { createAllowed } from '../../pipeline/listen/allow.ts';
import { arrive, canonicalCall } from '../../pipeline/listen/call.ts';
import { createClientBehind } from '../../pipeline/listen/trusted-proxies.ts';
import type { Call } from '../../model/call.ts';
import type { Config } from '../../model/config.ts';
import { FRONT_DOOR } from '../../model/front-door.ts';
import type { Route } from '../../model/route.ts';
import type { Gateway, Stages } from '../../pipeline/pipeline.ts';
import { createCrossOrigin } from '../../pipeline/respond/cross-origin.ts';
import {
  createKeySet,
  createPublish,
  createFrontDoorMetadata,
  createRootEndpoints,
} from '../../pipeline/respond/publish.ts';
import { createRefuse } from '../../pipeline/respond/refuse.ts';
import { createRouter, canonicalTarget } from '../../pipeline/route/router.ts';
import { createForwardAuth } from './forward-auth.ts';
import { RevocationEndpoints } from './revocation-endpoints.ts';
import {
  type ConfigScope,
  type ConfiguredGateway,
  createRouteStages,
  type ProcessScope,
  type ServedRoute,
} from './route-stages.ts';

/** Builds the gateway of `config`. Sends nothing to any server yet. */
export function createGateway(config: Config, configScope: ConfigScope, processScope: ProcessScope): ConfiguredGateway {
  const { log, events, clock, certificateOf } = processScope;
  const allowed = createAllowed(config);
  const crossOrigin = createCrossOrigin(allowed.origin);
  const { stagesOf, approvalStages } = createRouteStages(config, configScope, processScope, { allowed, crossOrigin });
  const access = processScope.revocation;
  const revocation = config.revocation && access && new RevocationEndpoints(config, access.receive);
  const routed = createRouter(
    new Map([
      ...config.routes.map((route) => [route.path, stagesOf(route)] as const),
      ...endpointStages(config.revocation?.endpoint?.route),
      ...(approvalStages ? [[approvalStages.route.path, approvalStages] as const] : []),
    ]),
  );
  const clientBehind = createClientBehind(config.trustedProxies, config.certificateProxies);
  const refuse = createRefuse(undefined, { publicUrl: config.publicUrl, crossOrigin });

  const publish = createPublish(config, createKeySet(config, configScope.identityKeys, clock));
  const frontDoor = configScope.clients.get(FRONT_DOOR);
  const publishMetadata = createFrontDoorMetadata(
    config,
    frontDoor && (async () => (await frontDoor.metadata()).document),
  );
  const leadToEndpoint = createRootEndpoints(config, async () => {
    const client = configScope.clients.get(config.endpointsAtRoot?.name ?? '');
    return (await client?.metadata())?.document ?? {};
  });

  const gateway: Gateway = {
    arrive: (request, response) => arrive(request, response, certificateOf),
    canonical: (arrived) => canonicalCall(arrived, canonicalTarget, clientBehind),
    publish: (call) =>
      publishMetadata(call) || leadToEndpoint(call) || revocation?.push(call) === true || publish(call),
    route: (call) => routed(call.path),
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
    reconsider: (stream) => routed(stream.call.path).reconsider(stream),
    revalidate: async (token, { path, client }) => routed(path).authentication?.revalidate(token, client),
    forwardAuth: createForwardAuth(gateway, (call) => routed(call.path).forwardAuthStages, { config, crossOrigin }),
  };

  /** The endpoint of `revocation` is a route as any other, except that the gateway answers it. */
  function endpointStages(route: Route | undefined): readonly (readonly [string, ServedRoute])[] {
    if (route === undefined || revocation === undefined) return [];
    return [[route.path, { ...stagesOf(route), forward: (granted) => revocation.revoke(granted) }]];
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
