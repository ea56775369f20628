/**
 * The external decision point, AuthZEN Authorization API 1.0: it must allow what the policy of the route allows. Only a
 * configuration that names one loads this file.
 *
 * @module
 */

import { createCircuitBreaker } from '../../authorization-server/circuit-breaker.ts';
import { createJsonFetcher, type JsonAnswer } from '../../authorization-server/fetch-json.ts';
import type { Random } from '../../lib/back-off.ts';
import type { Clock } from '../../lib/clock.ts';
import { retryAfterMs } from '../../lib/http/header-fields.ts';
import { hasDuplicateMembers } from '../../lib/json/duplicate-members.ts';
import { hasCaseVariant, isObject, ownMember } from '../../lib/json/own-member.ts';
import { createQuota } from '../../lib/quota.ts';
import type { Call } from '../../model/call.ts';
import type { DecisionPointSettings } from '../../model/decision-point.ts';
import { Denial } from '../../model/denial.ts';
import type { Grant } from '../../model/grant.ts';
import type { Route } from '../../model/route.ts';
import { createDescribe, type Question } from './question.ts';

/** The longest answer that is read. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Questions in flight at once; one caller has at most a quarter of them. */
const MAX_IN_FLIGHT = 1024;
/** How long metadata count. */
const METADATA_MS = 3_600_000;
/** What the log quotes of a reason, in UTF-16 code units. */
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

/** One decision point of one configuration. It keeps no decision. */
export class DecisionPoint {
  readonly #settings: DecisionPointSettings;
  readonly #publicUrl: string;
  readonly #clock: Clock;
  readonly #fetcher = createJsonFetcher();
  readonly #circuit;
  readonly #inFlight = createQuota(MAX_IN_FLIGHT);
  #endpoint: { readonly url: string; readonly readAt: number } | undefined;
  #reading: Promise<string> | undefined;
  #problem = '';

  constructor(settings: DecisionPointSettings, publicUrl: string, clock: Clock, random: Random) {
    this.#settings = settings;
    this.#publicUrl = publicUrl;
    this.#clock = clock;
    this.#circuit = createCircuitBreaker(clock, random);
  }

  /**
   * Creates what requires that the decision point allows a call on `route` that the policy allowed.
   *
   * @returns a function that throws {Denial} `decision_point.denied`, `authentication.insufficient` where another
   *   sign-in helps, and `decision_point.unavailable` for everything that is no decision.
   */
  requireOn(route: Route): (call: Call, grant: Grant) => Promise<void> {
    const describe = createDescribe(route, this.#publicUrl, this.#settings.sendsArguments);
    return async (call, grant) => {
      const question = describe(call, grant);
      if (question !== undefined) await this.#require(question, call, grant);
    };
  }

  async #require(question: Question, call: Call, grant: Grant): Promise<void> {
    const owner = grant.principal?.callerKey ?? '';
    if (!this.#inFlight.take(owner, 1)) throw this.#unavailable('too many questions are in flight', 1);
    try {
      this.#enforce(await this.#ask(question, call.id), grant);
    } finally {
      this.#inFlight.give(owner, 1);
    }
  }

  /** The answer, which has one boolean `decision`. */
  async #ask(question: Question, requestId: string): Promise<Readonly<Record<string, unknown>>> {
    const deadline = performance.now() + this.#settings.timeoutMs;
    const attempt = this.#circuit.admit();
    if (typeof attempt === 'number') throw this.#unavailable(`the circuit is open: ${this.#problem}`, attempt / 1000);
    try {
      const endpoint = await this.#currentEndpoint();
      const timeoutMs = Math.floor(deadline - performance.now());
      if (timeoutMs < 1) throw new Undecided(`timeout after ${this.#settings.timeoutMs} ms`, true);
      const answer = await this.#fetcher.fetchJson(endpoint, {
        method: 'POST',
        timeoutMs,
        maxBytes: MAX_ANSWER_BYTES,
        isRepeatable: true,
        headers: { ...this.#credentials(), 'content-type': 'application/json', 'x-request-id': requestId },
        body: JSON.stringify(question),
      });
      const body = jsonIn(answer, 'the evaluation', this.#clock());
      if (typeof ownMember(body, 'decision') !== 'boolean' || hasCaseVariant(body, 'decision'))
        throw new Undecided('the evaluation has no boolean decision');
      attempt.succeeded();
      return body;
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
      const { isOutage, retryMs } = error instanceof Undecided ? error : { isOutage: true, retryMs: undefined };
      // An answer that is no decision may concern this call alone, and must not stop those of others.
      if (isOutage) attempt.failed(retryMs);
      else attempt.succeeded();
      throw this.#unavailable(this.#problem, retryMs === undefined ? undefined : retryMs / 1000, error);
    }
  }

  #enforce(answer: Readonly<Record<string, unknown>>, { principal, decision: { plan } }: Grant): void {
    const context = ownMember(answer, 'context');
    const { name } = this.#settings;
    if (answer['decision'] === true) {
      const obligations = ownMember(context, 'obligations');
      if (obligations === undefined || (Array.isArray(obligations) && obligations.length === 0)) return;
      throw new Denial(
        'decision_point.denied',
        `${name} allows the call with obligations, which the gateway has not met`,
      );
    }
    const acr = ownMember(context, 'acr_values');
    if (typeof acr === 'string' && acr.length <= MAX_ACR_VALUES && acrValues.test(acr)) {
      throw new Denial('authentication.insufficient', `${name} wants another sign-in: acr_values ${acr}`, {
        scope: principal === undefined ? [] : (plan?.neededScopes(principal) ?? []),
        authentication: { acrValues: acr.split(' ') },
      });
    }
    const reason = ownMember(context, 'reason');
    const shown = typeof reason === 'string' ? `: ${reason.slice(0, MAX_REASON)}` : '';
    throw new Denial('decision_point.denied', `${name} denies the call${shown}`);
  }

  /** The access evaluation endpoint; its metadata are read at first use and every hour, once for all that wait. */
  #currentEndpoint(): string | Promise<string> {
    const known = this.#endpoint;
    const age = known === undefined ? -1 : this.#clock() - known.readAt;
    if (known !== undefined && age >= 0 && age < METADATA_MS) return known.url;
    this.#reading ??= this.#readEndpoint().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readEndpoint(): Promise<string> {
    const { url, timeoutMs } = this.#settings;
    const { origin, pathname } = new URL(url);
    const answer = await this.#fetcher.fetchJson(
      `${origin}/.well-known/authzen-configuration${pathname.replace(/\/$/, '')}`,
      { timeoutMs, maxBytes: MAX_ANSWER_BYTES, headers: this.#credentials() },
    );
    const endpoint =
      answer.status === 404
        ? `${url.replace(/\/$/, '')}/access/v1/evaluation`
        : endpointIn(jsonIn(answer, 'the metadata', this.#clock()), url);
    this.#endpoint = { url: endpoint, readAt: this.#clock() };
    return endpoint;
  }

  #credentials(): Readonly<Record<string, string>> {
    const { token } = this.#settings;
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  #unavailable(why: string, retryAfterSeconds?: number, cause?: unknown): Denial {
    return new Denial('decision_point.unavailable', `${this.#settings.name}: ${why}`, { retryAfterSeconds, cause });
  }
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
function endpointIn(metadata: Readonly<Record<string, unknown>>, url: string): string {
  if (ownMember(metadata, 'policy_decision_point') !== url)
    throw new Undecided('the metadata have another policy_decision_point than url');
  const endpoint = ownMember(metadata, 'access_evaluation_endpoint');
  const found = typeof endpoint === 'string' && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (found === undefined) throw new Undecided('the metadata have no access_evaluation_endpoint');
  // The token must reach no other server.
  if (found.origin !== new URL(url).origin || found.username !== '' || found.password !== '' || found.hash !== '')
    throw new Undecided('the access_evaluation_endpoint is not at the origin of url');
  return found.href;
}
