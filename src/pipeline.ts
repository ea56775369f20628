/**
 * The path of one request. Each step returns the proof that the next one needs, so that no two can change places:
 *
 *     arrival → call → route → token → principal → (rate) → action → grant → credential → forwarded
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call } from './model/call.ts';
import { Denial } from './model/denial.ts';
import type { Action, Grant, HeldToken, MessageId, PresentedToken, UpstreamCredential } from './model/grant.ts';
import type { KnownCall, Outcome } from './model/outcome.ts';
import type { Principal } from './model/principal.ts';
import type { Route } from './model/route.ts';

/** A step's result, at once where nobody has to be asked. */
type Soon<Value> = Value | Promise<Value>;

/** What the gateway does on one route, wired in `gateway.ts`. Every one of them refuses by throwing a {Denial}. */
export interface Stages {
  readonly route: Route;
  /** By which host name, and for the page of which origin. */
  allow(call: Call): void;
  /** Answers a browser's question whether a page may call, which comes without a token. */
  preflight(call: Call): boolean;
  /** The method, and whether an upgrade is served here. */
  admit(call: Call, isUpgrade: boolean): void;
  /** Undefined only on a public route. */
  token(call: Call): PresentedToken | undefined;
  /** Whose token it is, and that it is the caller's: a token bound to a key only with the proof of it. */
  authenticate(token: PresentedToken | undefined, call: Call): Soon<Principal | undefined>;
  /** Counts the call, before anything is read or asked for it; undefined on a route without limit. */
  readonly limit: ((call: Call, principal: Principal | undefined) => Soon<void>) | undefined;
  readAction(call: Call, principal: Principal | undefined): Soon<Action>;
  authorize(principal: Principal | undefined, action: Action): Grant;
  exchange(grant: Grant, token: PresentedToken | undefined): Soon<UpstreamCredential>;
  /** What a stream that outlives its call does about its token; undefined on a public route. */
  hold(token: PresentedToken | undefined, call: Call): HeldToken | undefined;
  forward(call: Call, grant: Grant, credential: UpstreamCredential, held: HeldToken | undefined): Promise<void>;
  forwardUpgrade(
    call: Call,
    grant: Grant,
    credential: UpstreamCredential,
    held: HeldToken | undefined,
    head: Buffer,
    refuse: (denial: Denial) => void,
  ): void;
  refuse(call: Call, denial: Denial, messageId: MessageId): void;
}

/** What comes before a route is known, and what happens around every call. */
export interface Gateway {
  arrive(request: IncomingMessage, response: ServerResponse): Call;
  /** The one canonical request, or a refusal. */
  canonical(arrived: Call): Call;
  /** Answers what the gateway itself publishes. */
  publish(call: Call): boolean;
  route(call: Call): Stages;
  /** Refuses a call that met no route. */
  refuse(call: Call, denial: Denial, messageId: MessageId): void;
  record(outcome: Outcome): void;
  answered(route: Route | undefined, call: KnownCall, status: number): void;
  /** What went wrong after a call was allowed, or what is our own fault. */
  failed(call: Call, route: Route | undefined, denial: Denial): void;
}

/** What is counted where a connection ends before its answer: the client left, as nginx has it. */
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
  let decided = false;
  // Until somebody answers: Node's own default would count them as served.
  response.statusCode = UNANSWERED;
  response.on('close', () => gateway.answered(stages?.route, call, response.statusCode));
  try {
    call = gateway.canonical(call);
    if (gateway.publish(call)) return;
    stages = gateway.route(call);
    stages.allow(call);
    if (stages.preflight(call)) return;
    stages.admit(call, head !== undefined);
    const token = stages.token(call);
    // A promise only where somebody has to be asked: to await what is there already costs a turn.
    const known = stages.authenticate(token, call);
    principal = known instanceof Promise ? await known : known;
    if (stages.limit !== undefined) await stages.limit(call, principal);
    const read = stages.readAction(call, principal);
    action = read instanceof Promise ? await read : read;
    grant = stages.authorize(principal, action);
    const exchanged = stages.exchange(grant, token);
    const credential = exchanged instanceof Promise ? await exchanged : exchanged;
    record(undefined);
    const held = stages.hold(token, call);
    if (head === undefined) await stages.forward(call, grant, credential, held);
    else stages.forwardUpgrade(call, grant, credential, held, head, refuse);
  } catch (error) {
    refuse(error instanceof Denial ? error : new Denial('gateway.error', 'an error of our own', { cause: error }));
  }

  function refuse(denial: Denial): void {
    // One decision a call: what goes wrong after it was allowed is another matter.
    if (!decided && denial.reason !== 'gateway.error') record(denial);
    else gateway.failed(call, stages?.route, denial);
    (stages ?? gateway).refuse(call, denial, action?.messageId ?? denial.messageId ?? null);
  }

  function record(denial: Denial | undefined): void {
    decided = true;
    // SEP-414: the header describes the request, and comes first; without one the message says which trace it is of.
    const trace = call.trace ?? action?.trace;
    gateway.record({
      call: trace === call.trace ? call : { ...call, trace },
      route: stages?.route,
      principal,
      attempt: action?.attempt,
      allow: denial === undefined,
      rule: denial === undefined ? grant?.decision.rule : denial.rule,
      denial,
      shadow: grant?.decision.shadow,
      decidedAt: performance.now(),
    });
  }
}
