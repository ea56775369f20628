/**
 * The external decision point, AuthZEN Authorization API 1.0: it must allow what the policy of the route allows. Only a
 * configuration that names one loads this file.
 *
 * @module
 */

import { createCircuitBreaker } from '../../tokens/servers/circuit-breaker.ts';
import { createJsonFetcher, FetchError, type JsonAnswer } from '../../tokens/servers/fetch-json.ts';
import type { Random } from '../../core/lib/back-off.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { retryAfterMs } from '../../core/lib/http/header-fields.ts';
import { hasDuplicateMembers } from '../../core/lib/json/scanner.ts';
import { hasCaseVariant, isObject, ownMember } from '../../core/lib/json/own-member.ts';
import { createQuota } from '../../core/lib/fair-share.ts';
import { loadHourly } from '../../core/lib/single-flight.ts';
import type { Call } from '../../core/model/call.ts';
import type { AskAboutList, Grant } from '../../core/model/grant.ts';
import { type Attempt, calledTool, type McpAttempt } from '../../core/model/policy.ts';
import type { Route } from '../../core/model/route.ts';
import type { DecisionPointSettings } from './settings.ts';
import { Denial } from '../../core/model/denial.ts';
import { reasons } from './reasons.ts';
import { createDescribe } from './question.ts';
import { messageOf } from '../../core/lib/wording.ts';

const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_LIST_BYTES = 1024 * 1024;
/** Questions in flight at once; one caller has at most a quarter of them. */
const MAX_IN_FLIGHT = 1024;
/** The longest reason that the log quotes, in UTF-16 code units. */
const MAX_REASON = 256;
/** RFC 9470 §3: values that a challenge can carry in quotes. */
const acrValues = /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/;
const MAX_ACR_VALUES = 512;

/** No decision. `isOutage`: another call would get none either. */
class Undecided extends Error {
  override readonly name = 'Undecided';
  readonly isOutage: boolean;
  readonly retryMs: number | undefined;

  constructor(message: string, isOutage = false, retryMs?: number) {
    super(message);
    this.isOutage = isOutage;
    this.retryMs = retryMs;
  }
}

/** Where a decision point is asked. */
export interface DecisionPointEndpoints {
  readonly evaluation: string;
  /** Undefined if its metadata name none: it decides on no lists. */
  readonly evaluations: string | undefined;
  /** Whether its metadata name them, rather than that they have their default paths. */
  readonly areNamed: boolean;
}

type Answer = Readonly<Record<string, unknown>>;

interface Asked<Value> {
  readonly endpoint: (endpoints: DecisionPointEndpoints) => string;
  readonly body: object;
  readonly maxBytes: number;
  /** Throws `Undecided` for an answer without a decision. */
  readonly read: (answer: Answer) => Value;
}

/** A decision point of one configuration. It keeps no decision. */
export class DecisionPoint {
  readonly #settings: DecisionPointSettings;
  readonly #publicUrl: string;
  readonly #clock: Clock;
  readonly #fetcher = createJsonFetcher();
  readonly #circuit;
  readonly #inFlight = createQuota(MAX_IN_FLIGHT);
  /**
   * The endpoints; metadata are read at start and every hour, once for all that wait. Rejects with an error that says
   * why there are none.
   */
  readonly endpoints: () => Promise<DecisionPointEndpoints>;
  #problem = '';

  constructor(settings: DecisionPointSettings, publicUrl: string, clock: Clock, random: Random) {
    this.#settings = settings;
    this.#publicUrl = publicUrl;
    this.#clock = clock;
    this.#circuit = createCircuitBreaker(clock, random);
    this.endpoints = loadHourly(() => this.#readEndpoints(), clock);
  }

  /**
   * Creates what requires that the decision point allows a call on `route` that the policy allowed.
   *
   * @returns a function that throws {Denial} `decision_point.denied`, `authentication.insufficient` where another
   *   sign-in helps, and `decision_point.unavailable` for everything that is no decision.
   */
  requireOn(route: Route): (call: Call, grant: Grant) => Promise<void> {
    const describe = createDescribe(route, this.#publicUrl, this.#settings.arguments);
    const filtersLists = route.policy?.lists === 'filter';
    return async (call, grant) => {
      const body = describe.call(call, grant);
      if (body === undefined) return;
      const { attempt } = grant.action;
      const willFilter = filtersLists && attempt.kind === 'mcp' && attempt.method.list !== undefined;
      const answer = await this.#ask(call, grant, {
        // Before the upstream is asked: its answer may have begun when the list turns out to be no answer.
        endpoint: (endpoints) => (willFilter && evaluationsIn(endpoints), endpoints.evaluation),
        body,
        maxBytes: MAX_ANSWER_BYTES,
        read: decided,
      });
      this.#enforce(answer, grant);
      const asked = new Set([JSON.stringify(body)]);
      // One after the other: a caller has a bounded share of the questions in flight.
      for (const part of [...subscriptionsIn(attempt), ...(route.policy?.innerCalls(attempt) ?? [])]) {
        const question = describe.part(grant, part);
        const text = JSON.stringify(question);
        if (asked.has(text)) continue;
        asked.add(text);
        const about = { endpoint: evaluationIn, body: question, maxBytes: MAX_ANSWER_BYTES, read: decided };
        this.#enforce(await this.#ask(call, grant, about), grant, calledTool(part));
      }
    };
  }

  /** Creates what asks about lists on `route`. */
  listOn(route: Route): AskAboutList {
    const describe = createDescribe(route, this.#publicUrl, this.#settings.arguments);
    return async (call, grant, entries) => {
      const body = describe.list(grant, entries);
      if (body === undefined) return entries.map(() => false);
      return this.#ask(call, grant, {
        endpoint: evaluationsIn,
        body,
        maxBytes: MAX_LIST_BYTES,
        read: (answer) => allowedIn(answer, entries.length),
      });
    };
  }

  /** Closes its idle connections. */
  close(): void {
    this.#fetcher.close();
  }

  async #ask<Value>(call: Call, { principal }: Grant, asked: Asked<Value>): Promise<Value> {
    const owner = principal?.callerKey ?? '';
    if (!this.#inFlight.take(owner, 1)) throw this.#unavailable('too many questions are in flight', 1);
    try {
      return await this.#answerOf(asked, call.id);
    } finally {
      this.#inFlight.give(owner, 1);
    }
  }

  async #answerOf<Value>({ endpoint, body, maxBytes, read }: Asked<Value>, requestId: string): Promise<Value> {
    const deadline = performance.now() + this.#settings.timeoutMs;
    const attempt = this.#circuit.admit();
    if (typeof attempt === 'number') throw this.#unavailable(`the circuit is open: ${this.#problem}`, attempt / 1000);
    try {
      const url = endpoint(await this.endpoints());
      const timeoutMs = Math.floor(deadline - performance.now());
      if (timeoutMs < 1) throw new Undecided(`timeout after ${this.#settings.timeoutMs} ms`, true);
      const answer = await this.#fetcher.fetchJson(url, {
        method: 'POST',
        timeoutMs,
        maxBytes,
        isRepeatable: true,
        headers: { ...this.#credentials(), 'content-type': 'application/json', 'x-request-id': requestId },
        body: JSON.stringify(body),
      });
      const value = read(jsonIn(answer, 'the evaluation', this.#clock()));
      attempt.succeeded();
      return value;
    } catch (error) {
      this.#problem = messageOf(error);
      const retryMs = error instanceof Undecided ? error.retryMs : undefined;
      // An answer that is no decision may concern this call alone, and must not stop those of others.
      if (isOutage(error)) attempt.failed(retryMs);
      else attempt.succeeded();
      throw this.#unavailable(this.#problem, retryMs === undefined ? undefined : retryMs / 1000, error);
    }
  }

  /** @param tool The inner tool that the question is about; undefined: the call itself. */
  #enforce(answer: Answer, { principal, decision: { plan } }: Grant, tool?: string): void {
    const context = ownMember(answer, 'context');
    const { name } = this.#settings;
    if (answer['decision'] === true) {
      if (!hasObligations(answer)) return;
      throw new Denial(
        reasons['decision_point.denied'],
        `${name} allows the call with obligations, which the gateway has not met`,
        { tool },
      );
    }
    const acr = ownMember(context, 'acr_values');
    if (typeof acr === 'string' && acr.length <= MAX_ACR_VALUES && acrValues.test(acr)) {
      throw new Denial('authentication.insufficient', `${name} wants another sign-in: acr_values ${acr}`, {
        scope: principal === undefined ? [] : (plan?.neededScopes(principal) ?? []),
        authentication: { acrValues: acr.split(' ') },
        tool,
      });
    }
    const reason = ownMember(context, 'reason');
    const shown = typeof reason === 'string' ? `: ${reason.slice(0, MAX_REASON)}` : '';
    throw new Denial(reasons['decision_point.denied'], `${name} denies the call${shown}`, { tool });
  }

  async #readEndpoints(): Promise<DecisionPointEndpoints> {
    const { url, timeoutMs } = this.#settings;
    const { origin, pathname } = new URL(url);
    const answer = await this.#fetcher.fetchJson(
      `${origin}/.well-known/authzen-configuration${pathname.replace(/\/$/, '')}`,
      { timeoutMs, maxBytes: MAX_ANSWER_BYTES, headers: this.#credentials() },
    );
    const base = url.replace(/\/$/, '');
    if (answer.status !== 404) return endpointsIn(jsonIn(answer, 'the metadata', this.#clock()), url);
    return {
      evaluation: `${base}/access/v1/evaluation`,
      evaluations: `${base}/access/v1/evaluations`,
      areNamed: false,
    };
  }

  #credentials(): Readonly<Record<string, string>> {
    const { token } = this.#settings;
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  #unavailable(why: string, retryAfterSeconds?: number, cause?: unknown): Denial {
    return new Denial(reasons['decision_point.unavailable'], `${this.#settings.name}: ${why}`, {
      retryAfterSeconds,
      cause,
    });
  }
}

/** A subscription, once for each resource that it names. */
function subscriptionsIn(attempt: Attempt): readonly McpAttempt[] {
  if (attempt.kind !== 'mcp' || attempt.method.target !== 'subscriptions') return [];
  return attempt.targets.map((target) => ({ ...attempt, targets: [target] }));
}

/** Whether another call would get no decision either. An answer that is too long depends on what was asked. */
function isOutage(error: unknown): boolean {
  if (error instanceof Undecided) return error.isOutage;
  return !(error instanceof FetchError && error.isAnswered);
}

function decided(answer: Answer): Answer {
  if (typeof ownMember(answer, 'decision') !== 'boolean' || hasCaseVariant(answer, 'decision'))
    throw new Undecided('the evaluation has no boolean decision');
  return answer;
}

/** The answers to a question about a list. A missing answer, and one that reports an error, allows nothing. */
function allowedIn(answer: Answer, count: number): readonly boolean[] {
  const evaluations = ownMember(answer, 'evaluations');
  if (!Array.isArray(evaluations) || hasCaseVariant(answer, 'evaluations'))
    throw new Undecided('the answer has no list of evaluations');
  if (evaluations.length > count) throw new Undecided('the answer has more evaluations than the question');
  return Array.from({ length: count }, (_, index) => allows(evaluations[index] as unknown));
}

function allows(evaluation: unknown): boolean {
  if (!isObject(evaluation) || hasCaseVariant(evaluation, 'decision')) return false;
  if (ownMember(evaluation, 'decision') !== true || hasObligations(evaluation)) return false;
  return ownMember(ownMember(evaluation, 'context'), 'error') === undefined;
}

function hasObligations(evaluation: Answer): boolean {
  const obligations = ownMember(ownMember(evaluation, 'context'), 'obligations');
  return obligations !== undefined && !(Array.isArray(obligations) && obligations.length === 0);
}

function evaluationIn({ evaluation }: DecisionPointEndpoints): string {
  return evaluation;
}

function evaluationsIn({ evaluations }: DecisionPointEndpoints): string {
  if (evaluations === undefined)
    throw new Undecided('the metadata have no access_evaluations_endpoint, which lists: filter needs');
  return evaluations;
}

/** The object of an answer that every parser reads alike. */
function jsonIn(answer: JsonAnswer, what: string, now: number): Readonly<Record<string, unknown>> {
  const { status, mediaType, text, body, retryAfter } = answer;
  // As with authorization servers: 429 and 500 may concern one call alone.
  if (status !== 200) throw new Undecided(`${what} answered ${status}`, status > 500, retryAfterMs(retryAfter, now));
  if (mediaType !== 'application/json') throw new Undecided(`${what} is not application/json`);
  if (!isObject(body)) throw new Undecided(`${what} is not a JSON object`);
  if (hasDuplicateMembers(text, body)) throw new Undecided(`${what} has a member twice`);
  return body;
}

/** AuthZEN Authorization API 1.0 §9: metadata that name another decision point must not be used. */
function endpointsIn(metadata: Answer, url: string): DecisionPointEndpoints {
  if (ownMember(metadata, 'policy_decision_point') !== url)
    throw new Undecided('the metadata have another policy_decision_point than url');
  const evaluation = endpointIn(metadata, 'access_evaluation_endpoint', url);
  if (evaluation === undefined) throw new Undecided('the metadata have no access_evaluation_endpoint');
  return { evaluation, evaluations: endpointIn(metadata, 'access_evaluations_endpoint', url), areNamed: true };
}

function endpointIn(metadata: Answer, member: string, url: string): string | undefined {
  const endpoint = ownMember(metadata, member);
  if (endpoint === undefined) return undefined;
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) throw new Undecided(`the ${member} is not a URL`);
  const { origin, username, password, hash, href } = new URL(endpoint);
  // The token must reach no other server.
  if (origin !== new URL(url).origin || username !== '' || password !== '' || hash !== '')
    throw new Undecided(`the ${member} is not at the origin of url`);
  return href;
}
