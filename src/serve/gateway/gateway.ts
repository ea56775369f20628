/**
 * The composition root: builds the gateway of one configuration. It wires the steps before a route is known; the stages
 * of a route are wired in `route-stages.ts`, the questions of proxies in `forward-auth.ts`.
 *
 * @module
 */

import { type Allowed, createAllowed } from '../../core/gateway/listen/allow.ts';
import { arrive, canonicalCall } from '../../core/gateway/listen/call.ts';
import { createClientBehind } from '../../core/gateway/listen/trusted-proxies.ts';
import type { OwnEndpoint } from '../../capabilities/capability.ts';
import type { Call } from '../../core/model/call.ts';
import type { Config } from '../../core/model/config.ts';
import { FRONT_DOOR } from '../../core/model/front-door.ts';
import type { Gateway, Stages } from '../../core/gateway/pipeline.ts';
import { createCrossOrigin } from '../../core/gateway/respond/cross-origin.ts';
import { createFrontDoorMetadata, createPublish, createRootEndpoints } from '../../core/gateway/respond/publish.ts';
import { createRefuse } from '../../core/gateway/respond/refuse.ts';
import { canonicalTarget, createRouter } from '../../core/gateway/route/router.ts';
import { createForwardAuth } from '../../capabilities/forward-auth/forward-auth.ts';
import {
  type ConfigScope,
  type ConfiguredGateway,
  createFailureLimit,
  createWiring,
  type ProcessScope,
} from './route-stages.ts';
import { createQuota } from '../../core/lib/fair-share.ts';
import { digestOf, isSameSecret } from '../../core/lib/digest.ts';
import { Denial, isTokenDenial } from '../../core/model/denial.ts';
import type { GrantedCall } from '../../core/model/grant.ts';
import type { Failures } from '../../core/model/shared.ts';
import type { EventSource, RevocationAnswer, RevocationReceiver } from '../../core/model/revocation.ts';
import { bodyQuotaBytes, readBody } from '../../core/gateway/listen/body.ts';
import { answer } from '../../core/gateway/respond/answer.ts';

/** Builds the gateway of `config`. Sends nothing to any server yet. */
export function createGateway(config: Config, configScope: ConfigScope, processScope: ProcessScope): ConfiguredGateway {
  const { log, events, certificateOf } = processScope;
  const allowed = createAllowed(config);
  const crossOrigin = createCrossOrigin(allowed.origin);
  const wiring = createWiring(config, configScope, processScope, { allowed, crossOrigin });
  const access = processScope.revocation;
  const revocation =
    config.revocation &&
    access &&
    new RevocationEndpoints(config, {
      allowed,
      receive: access.receive,
      failures: createFailureLimit(config, configScope, processScope),
      refuse: (call, denial) => recordRefusal(call, denial),
    });
  const routed = createRouter(
    new Map([
      ...config.routes.map((route) => [route.path, wiring.ofRoute(route)] as const),
      ...ownEndpoints().map((own) => [own.endpoint.path, wiring.ofOwn(own)] as const),
    ]),
  );
  const clientBehind = createClientBehind(config.trustedProxies, config.certificateProxies);
  const refuse = createRefuse(undefined, { publicUrl: config.publicUrl, crossOrigin });

  const publish = createPublish(config);
  const published = configScope.capabilities.flatMap((each) => each.publish ?? []);
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
      publishMetadata(call) ||
      leadToEndpoint(call) ||
      revocation?.push(call) === true ||
      published.some((each) => each(call)) ||
      publish(call),
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

  /** Refuses a call that no route has. */
  function recordRefusal(call: Call, denial: Denial): void {
    const decidedAt = performance.now();
    const nothing = { route: undefined, principal: undefined, attempt: undefined, rule: undefined, shadow: undefined };
    const given = refuse(call, denial, undefined);
    gateway.record({ ...nothing, call, allow: false, denial, answer: given, details: config.log.details, decidedAt });
  }

  function ownEndpoints(): readonly OwnEndpoint[] {
    const endpoint = config.revocation?.endpoint?.route;
    const own = configScope.capabilities.flatMap(({ endpoints = [] }) => endpoints);
    if (endpoint !== undefined && revocation !== undefined)
      own.push({ endpoint, answer: (granted) => revocation.revoke(granted) });
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

/** The longest SET, and the longest body of the endpoint. */
const MAX_BYTES = 64 * 1024;
const RETRY_SECONDS = 5;

interface EndpointParts {
  readonly allowed: Pick<Allowed, 'requireHost'>;
  /** Asks the process that keeps revocations. */
  readonly receive: RevocationReceiver;
  /** Counts wrong credentials as failures of the address. */
  readonly failures: Failures;
  /** Answers and records a push that was refused as a call is. */
  readonly refuse: (call: Call, denial: Denial) => void;
}

class RevocationEndpoints {
  readonly #parts: EndpointParts;
  readonly #byPath: ReadonlyMap<string | undefined, EventSource>;
  readonly #room = createQuota(bodyQuotaBytes(MAX_BYTES));
  readonly #hasAddresses: boolean;

  constructor({ revocation, log }: Config, parts: EndpointParts) {
    this.#parts = parts;
    this.#byPath = new Map(Array.from(revocation?.sources.values() ?? [], (source) => [source.path, source]));
    this.#hasAddresses = log.details.addresses;
  }

  /**
   * Takes a SET that a transmitter pushes, RFC 8935; false for any other call.
   *
   * @throws {Denial} `request.host` for another `Host` than those of the gateway.
   */
  push(call: Call): boolean {
    const source = this.#byPath.get(call.path);
    if (source === undefined) return false;
    this.#parts.allowed.requireHost(call);
    void this.#answer(call, source).catch(() => call.response.destroy());
    return true;
  }

  async #answer(call: Call, source: EventSource): Promise<void> {
    try {
      send(call, await this.#take(call, source));
    } catch (error) {
      if (error instanceof Denial && error.reason === 'failures.exceeded') this.#parts.refuse(call, error);
      else send(call, answerTo(error));
    }
  }

  /** Answers a call of the endpoint that was allowed. */
  async revoke({ call, grant: { principal } }: GrantedCall): Promise<void> {
    if (mediaTypeOf(call) !== 'application/json')
      return send(call, refused('invalid_request', 'Content-Type is not application/json'));
    const body = (await readBody(call, MAX_BYTES, this.#room)).toString('utf8');
    send(call, await this.#parts.receive({ ask: 'endpoint', body, by: principal?.clientId ?? principal?.subject }));
  }

  async #take(call: Call, source: EventSource): Promise<RevocationAnswer> {
    if (call.method !== 'POST') return { status: 405 };
    const { name } = source;
    if (!(await this.#isAuthentic(call, source)))
      return this.#parts.receive({
        ask: 'refused',
        source: name,
        address: this.#hasAddresses ? call.client : undefined,
      });
    if (mediaTypeOf(call) !== 'application/secevent+jwt')
      return refusal('invalid_request', 'Content-Type is not application/secevent+jwt');
    const set = (await readBody(call, MAX_BYTES, this.#room)).toString('latin1').trim();
    return this.#parts.receive({ ask: 'push', source: name, set });
  }

  /** @throws {Denial} `failures.exceeded` after too many wrong credentials of the address, whatever this one is. */
  async #isAuthentic(call: Call, { name, authorization: agreed }: EventSource): Promise<boolean> {
    if (agreed === undefined) return true;
    const { authorization = '' } = call.fields;
    try {
      const question = { call, servers: `push ${name}`, token: digestOf(authorization) };
      await this.#parts.failures.guard(question, async () => {
        if (!isSameSecret(authorization, agreed)) throw new Denial('token.inactive', 'a wrong credential');
      });
      return true;
    } catch (error) {
      if (isTokenDenial(error)) return false;
      throw error;
    }
  }
}

function mediaTypeOf({ request }: Call): string | undefined {
  return request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
}

function send(call: Call, { status, body }: RevocationAnswer): void {
  const headers = {
    'Cache-Control': 'no-store',
    ...(status === 405 && { Allow: 'POST' }),
    ...(status === 503 && { 'Retry-After': String(RETRY_SECONDS) }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  answer(call, status, headers, body === undefined ? '' : JSON.stringify(body));
}

/** A fault of the body: the transmitter must not send it again. Anything else may pass. */
function answerTo(error: unknown): RevocationAnswer {
  if (error instanceof Denial && error.reason === 'body.too_large') return refusal('invalid_request', error.detail);
  return { status: 503 };
}

/** RFC 8935 §2.4. */
function refusal(err: string, description: string): RevocationAnswer {
  return { status: 400, body: { err, description } };
}

function refused(error: string, description: string): RevocationAnswer {
  return { status: 400, body: { error, error_description: description } };
}
