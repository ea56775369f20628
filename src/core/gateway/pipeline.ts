/**
 * The path of one request. Each step returns the proof that the next one needs, so that a wrong order does not compile:
 *
 *     arrival → call → route → token → principal → (limit) → action → grant → (gates) → credential →
 *     forwarded
 *
 * The steps are declared here, and each names the file that implements it. `serve/gateway/` wires them.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call } from '../model/call.ts';
import { Denial } from '../model/denial.ts';
import type { Action, CallRight, Grant, GrantedCall, HeldToken, PresentedToken } from '../model/grant.ts';
import { type CredentialSource, type Gate, heldTogether } from '../model/gate.ts';
import type { CountedCall } from '../model/history.ts';
import type { KnownCall, Outcome, RefusalAnswer } from '../model/outcome.ts';
import type { Principal } from '../model/principal.ts';
import type { RecordDetails } from '../model/outcome.ts';
import type { Endpoint } from '../model/endpoint.ts';

/** The result of a step: a promise only if the step has to wait for the body or for another server. */
type Soon<Value> = Value | Promise<Value>;

/** The steps of a call on one route. Each refuses the call by throwing a {@link Denial}. */
export interface Stages {
  readonly route: Endpoint;
  /** Requires a `Host` of the gateway and an allowed `Origin`. `listen/allow.ts` */
  allow(call: Call): void;
  /** Answers a CORS preflight request, which carries no token; false for any other call. `respond/cross-origin.ts` */
  preflight(call: Call): boolean;
  /** Requires a path and a method that the route serves. `route/admit.ts` */
  admit(call: Call): void;
  /** Requires that the route serves the upgrade, for a call that asks for one. `route/admit.ts` */
  admitUpgrade(call: Call): void;
  /** Reads the access token; undefined only on a public route. `tokens/credentials.ts` */
  token(call: Call): PresentedToken | undefined;
  /** Validates the token, and the proof of possession if it is bound to a key. `tokens/authenticator.ts` */
  authenticate(token: PresentedToken | undefined, call: Call): Soon<Principal | undefined>;
  /** Requires that a caller of an earlier configuration is one of this one, too. `tokens/authenticator.ts` */
  accept(principal: Principal | undefined, token: PresentedToken | undefined, call: Call): Soon<Principal | undefined>;
  /** Counts the call among those of its caller that are under way. `limit/under-way.ts` */
  enter(call: Call, principal: Principal | undefined): string;
  /** Counts a call no longer that has ended. `limit/under-way.ts` */
  leave(owner: string): void;
  /** Counts the call against the caller's rate limit; undefined on a route without one. `limit/limit.ts` */
  readonly limit: ((call: Call, principal: Principal | undefined) => Soon<void>) | undefined;
  /** Reads what the call attempts, on an MCP route from its message. `mcp/action.ts` */
  readAction(call: Call, principal: Principal | undefined): Soon<Action>;
  /** Decides by the policy of the route. `authorize/authorize.ts` */
  authorize(principal: Principal | undefined, action: Action): Grant;
  /** What capabilities require of a call that the policy allows, in their order. `capabilities/all.ts` */
  readonly gates: readonly Gate[];
  /** Gets the credential that the upstream accepts. `forward/credential.ts` */
  readonly credential: CredentialSource;
  /** Keeps the token for a stream, which validates it again; undefined without one. `serve/gateway/route-stages.ts` */
  hold(token: PresentedToken | undefined, call: Call): HeldToken | undefined;
  /** Requires that the caller kept its right since its token was read. `serve/gateway/route-stages.ts` */
  confirm(right: CallRight): void;
  /** Sends the call to the upstream, and the answer to the client until its last byte. `forward/forward.ts` */
  forward(granted: GrantedCall): Promise<void>;
  /**
   * Sends a WebSocket handshake to the upstream, with the bytes after its header section. A capability does it:
   * `capabilities/all.ts`
   *
   * @param refuse Called at most once, if the upstream does not answer the handshake.
   */
  forwardUpgrade(granted: GrantedCall, head: Buffer, refuse: (denial: Denial) => void): Promise<void>;
  /** Answers a call that was refused; `action` if it was read. `respond/refuse.ts` */
  refuse(call: Call, denial: Denial, action: Action | undefined): RefusalAnswer;
}

/** The steps before a route is known, and the records of every call. */
export interface Gateway {
  /** Reads the header section once. `listen/call.ts` */
  arrive(request: IncomingMessage, response: ServerResponse): Call;
  /** Requires that all parsers read the request alike: one path, one framing. `listen/call.ts` */
  canonical(arrived: Call): Call;
  /** Answers a request for what the gateway itself publishes; false for any other. `respond/publish.ts` */
  publish(call: Call): boolean;
  /** Finds the route. `route/router.ts` */
  route(call: Call): Stages;
  /** The gateway of the newest configuration; itself until the next one. `serve/reloadable-gateway.ts` */
  newest(): Gateway;
  /** Answers a call that was refused before its route was known. `serve/gateway/gateway.ts` */
  refuse(call: Call, denial: Denial, action: Action | undefined): RefusalAnswer;
  /** What records say besides the decision. */
  readonly details?: RecordDetails;
  /** Records the decision. `core/telemetry/log.ts` */
  record(outcome: Outcome): void;
  /** Counts an answered call. `core/telemetry/metrics.ts` */
  answered(route: Endpoint | undefined, call: KnownCall, status: number): void;
  /** Logs a failure after the call was allowed, or of the gateway itself. `serve/gateway/gateway.ts` */
  failed(call: Call, route: Endpoint | undefined, denial: Denial): void;
}

/** A call that takes longer to arrive has its token validated again, past every cache. */
const LONG_MS = 30_000;

/** The status that is counted if the connection ends before any answer: the client left. nginx uses the same. */
const UNANSWERED = 499;

/** Serves one request from its arrival to its last byte. Never rejects: every failure becomes an answer. */
export async function serve(
  gateway: Gateway,
  request: IncomingMessage,
  response: ServerResponse,
  head?: Buffer,
): Promise<void> {
  let call = gateway.arrive(request, response);
  let stages: Stages | undefined;
  let principal: Principal | undefined;
  let action: Action | undefined;
  let grant: Grant | undefined;
  let counted: CountedCall | undefined;
  let decided = false;
  let owner: string | undefined;
  // Node's default, 200, would count a call as served although nothing was answered.
  response.statusCode = UNANSWERED;
  response.on('close', () => {
    if (owner !== undefined) stages?.leave(owner);
    gateway.answered(stages?.route, call, response.statusCode);
  });
  try {
    call = gateway.canonical(call);
    if (gateway.publish(call)) return;
    stages = gateway.route(call);
    stages.allow(call);
    if (stages.preflight(call)) return;
    stages.admit(call);
    if (head !== undefined) stages.admitUpgrade(call);
    const token = stages.token(call);
    principal = await stages.authenticate(token, call);
    if (!response.closed) owner = stages.enter(call, principal);
    if (stages.limit !== undefined) await stages.limit(call, principal);
    action = await stages.readAction(call, principal);
    const newest = gateway.newest();
    if (newest !== gateway) {
      const before = { route: stages.route, principal, action, isUpgrade: head !== undefined };
      ({ stages, principal, action } = await underNewest(newest, call, before));
    }
    const held = stages.hold(token, call);
    if (performance.now() - call.startedAt > LONG_MS) await held?.revalidate();
    grant = stages.authorize(principal, action);
    for (const gate of stages.gates) counted = heldTogether(counted, await gate.enter(call, grant));
    const credential = await stages.credential.obtain(grant, token);
    stages.confirm({ call, grant, held });
    record(performance.now());
    const granted = { call, grant, credential, held, counted };
    if (head === undefined) await stages.forward(granted);
    else await stages.forwardUpgrade(granted, head, refuse);
  } catch (error) {
    refuse(error instanceof Denial ? error : new Denial('gateway.error', 'an unexpected error', { cause: error }));
  } finally {
    // Whatever was sent is settled by now, or stays counted.
    counted?.settle('unreached', 'the call did not reach the upstream');
  }

  function refuse(denial: Denial): void {
    // A call has one decision. A failure after it was allowed is logged, and not recorded as a decision.
    const isDecision = !decided && denial.reason !== 'gateway.error';
    if (!isDecision) gateway.failed(call, stages?.route, denial);
    const decidedAt = performance.now();
    let answer: RefusalAnswer | undefined;
    try {
      answer = (stages ?? gateway).refuse(call, denial, action);
    } finally {
      // Also if the answer fails: no decision is missing from the log.
      if (isDecision) record(decidedAt, denial, answer);
    }
  }

  function record(decidedAt: number, denial?: Denial, answer?: RefusalAnswer): void {
    decided = true;
    // SEP-414: `traceparent` of the request takes precedence over the trace that the MCP message names.
    const trace = call.trace ?? action?.trace;
    const shadow = grant?.decision.shadow ?? counted?.shadow;
    gateway.record({
      call: trace === call.trace ? call : { ...call, trace },
      route: stages?.route,
      principal,
      attempt: action?.attempt,
      allow: denial === undefined,
      rule: denial === undefined ? (shadow ?? grant?.decision)?.rule : denial.rule,
      denial,
      shadow,
      approval: counted?.approval ?? denial?.approval?.id,
      answer,
      details: gateway.details,
      decidedAt,
    });
  }
}

/** What a call was found to be under an earlier configuration. */
interface ReadCall {
  readonly route: Endpoint;
  readonly principal: Principal | undefined;
  readonly action: Action;
  readonly isUpgrade: boolean;
}

/**
 * A call under a configuration that is newer than the one that read it. A client decides when its body is complete: the
 * decision is that of the newest configuration.
 *
 * @throws {Denial} as the stages, and `route.unknown` where its path leads to another kind of endpoint now.
 */
async function underNewest(
  newest: Gateway,
  call: Call,
  before: ReadCall,
): Promise<Pick<ReadCall, 'principal' | 'action'> & { readonly stages: Stages }> {
  const stages = newest.route(call);
  const { route } = stages;
  if (route.protocol !== before.route.protocol || route.isOwn !== before.route.isOwn)
    throw new Denial('route.unknown', 'its path leads elsewhere now');
  stages.allow(call);
  stages.admit(call);
  if (before.isUpgrade) stages.admitUpgrade(call);
  const principal = await stages.accept(before.principal, stages.token(call), call);
  // A body is read once. What a message says does not depend on a configuration.
  const { body } = before.action;
  const action = body === undefined ? await stages.readAction(call, principal) : before.action;
  return { stages, principal, action };
}
