import type { Clock } from '../../core/lib/clock.ts';
import { reasonOf } from '../../core/lib/wording.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import type { RevocationTarget } from './sources.ts';
import { type Revocation, type RevocationAnswer, revocationId, type RevokedTokens } from './revoked.ts';
import type { RevocationObserver, RevocationResult } from './observer.ts';
import {
  effectOf,
  eventName,
  STREAM_UPDATED,
  VERIFICATION,
  type ExpectedSet,
  SetError,
  type SecurityEvent,
  verifiedSet,
} from './security-event.ts';
import type { Keeper } from './keeper.ts';
import { namedTokens } from './subjects.ts';

/** A source of events, as the receiver sees it. */
export interface SetSource {
  readonly name: string;
  readonly targets: readonly RevocationTarget[];
  /** Rejects while the metadata of the transmitter cannot be fetched. */
  expected(): Promise<ExpectedSet & { readonly criticalMembers: readonly string[] }>;
  /** Whether a verification state is one that this gateway, or another replica, has sent. */
  knowsState(state: unknown): boolean;
  /** The transmitter verified the stream, or changed its status. */
  onStreamEvent(uri: string, payload: Readonly<Record<string, unknown>>): void;
}

/** The result of a SET. `unavailable`: the transmitter must send it again. */
export type SetOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly error: SetError }
  | { readonly kind: 'unavailable' };

/** The parts of a receiver. */
export interface ReceiverParts {
  readonly keeper: Keeper;
  readonly observer: RevocationObserver;
  readonly clock: Clock;
}

/** The answers of the endpoint of global token revocation to a subject that names no tokens. */
const refusals = {
  malformed: { status: 400, error: 'invalid_request', result: 'refused' },
  not_understood: { status: 422, error: 'unsupported_format', result: 'not_understood' },
  foreign: { status: 403, error: 'access_denied', result: 'not_understood' },
} as const;

/** Takes events of transmitters, calls of the endpoint and commands of operators. */
export class Receiver {
  readonly #parts: ReceiverParts;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /** Takes a SET. It counts as taken only once its revocations are kept. Never rejects. */
  async receive(source: SetSource, text: string): Promise<SetOutcome> {
    const { clock } = this.#parts;
    let event: SecurityEvent | undefined;
    try {
      const expected = await source.expected();
      event = await verifiedSet(text, expected, clock);
      await this.#act(source, event, expected);
      return { kind: 'taken' };
    } catch (error) {
      const about = { jti: event?.id, txn: event?.transaction };
      if (error instanceof SetError) {
        const fields = { ...about, error: error.code, detail: error.message };
        this.#note(source.name, event && eventName(event.uri), 'refused', fields);
        return { kind: 'refused', error };
      }
      this.#parts.observer.event('warn', 'a revocation event cannot be taken now', {
        source: source.name,
        ...about,
        why: reasonOf(error),
      });
      return { kind: 'unavailable' };
    }
  }

  /** Refuses a push with a wrong credential, RFC 8935 §2.4. */
  refused(source: string, address: string | undefined): RevocationAnswer {
    const [err, description] = ['authentication_failed', 'Authorization is not the one that was agreed'];
    this.#note(source, undefined, 'refused', { error: err, detail: description, address });
    return { status: 400, body: { err, description } };
  }

  /** The endpoint of global token revocation. `by`: the client that calls it, for the log. */
  async endpoint(
    body: string,
    by: string | undefined,
    targets: readonly RevocationTarget[],
  ): Promise<RevocationAnswer> {
    const document = parsedJson(body);
    const subject = isObject(document) ? document['sub_id'] : undefined;
    if (subject === undefined) return this.#refusal('malformed', 'the body is not a JSON object with sub_id', by);
    const named = namedTokens(subject, targets);
    if (named.kind !== 'tokens') return this.#refusal(named.kind, named.why, by);
    return { status: (await this.revoke('endpoint', named.tokens, by)) ? 204 : 503 };
  }

  /** Revokes tokens for the endpoint or an operator. False: they are revoked here, and not kept where they must be. */
  async revoke(
    source: 'endpoint' | 'command',
    tokens: readonly RevokedTokens[],
    by?: string,
    onKept?: (revocations: readonly Revocation[]) => void,
  ): Promise<boolean> {
    const at = Math.floor(this.#parts.clock() / 1000);
    try {
      await this.#parts.keeper.keep({ tokens, at, id: undefined }, onKept);
      this.#note(source, source, 'kept', { by, at, ...describe(tokens) });
      return true;
    } catch (error) {
      const fields = { source, by, why: reasonOf(error), ...describe(tokens) };
      this.#parts.observer.event('error', 'a revocation cannot be kept', fields);
      return false;
    }
  }

  /** Withdraws a revocation for an operator. False: it is withdrawn here, and not where it is kept. */
  async lift(revocation: Revocation): Promise<boolean> {
    const about = { id: revocationId(revocation), at: revocation.at, ...describe([revocation]) };
    try {
      await this.#parts.keeper.lift(revocation);
      this.#note('command', 'lift', 'kept', about);
      return true;
    } catch (error) {
      const fields = { source: 'command', why: reasonOf(error), ...about };
      this.#parts.observer.event('error', 'a lifted revocation cannot be kept', fields);
      return false;
    }
  }

  async #act(
    source: SetSource,
    event: SecurityEvent,
    { issuer, criticalMembers }: { issuer: string; criticalMembers: readonly string[] },
  ): Promise<void> {
    const { uri, payload, id: jti, transaction: txn } = event;
    const name = eventName(uri);
    if (uri === VERIFICATION || uri === STREAM_UPDATED) {
      const { state, status, reason } = payload;
      if (uri === VERIFICATION && state !== undefined && !source.knowsState(state))
        throw new SetError('invalid_state', 'the state is none that was sent');
      source.onStreamEvent(uri, payload);
      this.#parts.observer.event('info', 'revocation', { source: source.name, event: name, jti, txn, status, reason });
      return;
    }
    const effect = effectOf(uri, payload);
    if (effect === 'malformed') throw new SetError('invalid_request', 'the event is not as it is defined');
    if (effect === 'none') return this.#note(source.name, name, 'ignored', { jti, txn });
    if (effect === undefined)
      return this.#note(source.name, name, 'not_understood', { jti, txn, detail: `the event ${uri.slice(0, 200)}` });
    const at = timeOf(event);
    const named = namedTokens(event.subject, source.targets, criticalMembers);
    if (named.kind === 'malformed') throw new SetError('invalid_request', named.why);
    if (named.kind !== 'tokens') {
      const result = effect === 'revoke' ? 'not_understood' : 'ignored';
      return this.#note(source.name, name, result, { jti, txn, detail: named.why });
    }
    const isDrop = effect === 'drop';
    const kept = { tokens: named.tokens, at: isDrop ? undefined : at, id: [source.name, issuer, jti] };
    const result = await this.#parts.keeper.keep(kept);
    this.#note(source.name, name, result, { jti, txn, at, ...describe(named.tokens), ...(isDrop && { effect }) });
  }

  #refusal(kind: keyof typeof refusals, description: string, by: string | undefined): RevocationAnswer {
    const { status, error, result } = refusals[kind];
    this.#note('endpoint', 'endpoint', result, { by, detail: description });
    return { status, body: { error, error_description: description } };
  }

  #note(
    source: string,
    event: string | undefined,
    result: RevocationResult,
    fields: Readonly<Record<string, unknown>>,
  ): void {
    const { observer } = this.#parts;
    observer.counted(source, event ?? 'other', result);
    // Rights may go on that should have ended.
    const isLoud = result === 'refused' || result === 'not_understood';
    observer.event(isLoud ? 'warn' : 'info', 'revocation', {
      source,
      event: event ?? 'other',
      result,
      ...fields,
    });
  }
}

/** `event_timestamp`, else `iat` of the SET. @throws {SetError} for anything but a number. */
function timeOf({ payload, issuedAt }: SecurityEvent): number {
  const { event_timestamp: time = issuedAt } = payload;
  if (typeof time === 'number') return time;
  throw new SetError('invalid_request', 'event_timestamp is not a number');
}

/** For the log: whose tokens, without addresses. */
function describe([first]: readonly RevokedTokens[]): Readonly<Record<string, unknown>> {
  if (first === undefined) return {};
  const { issuer, subject, client, actor, email, emailDigest, session, token } = first;
  const others = Object.entries({ email, emailDigest, session, token }).filter(([, text]) => text !== undefined);
  return { issuer, subject, client, actor, by_members: others.map(([name]) => name).join(' ') || undefined };
}
