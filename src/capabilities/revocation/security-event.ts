import type { JWTVerifyGetKey } from 'jose';
import * as errors from 'jose/errors';
import { jwtVerify } from 'jose/jwt/verify';
import { signatureAlgorithms } from '../../tokens/servers/key-algorithms.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { isObject } from '../../core/lib/json/own-member.ts';

/** RFC 8935 §2.4, and `invalid_state` of SSF 1.0 §8.1.4.2. */
export type SetErrorCode =
  | 'invalid_request'
  | 'invalid_key'
  | 'invalid_issuer'
  | 'invalid_audience'
  | 'authentication_failed'
  | 'invalid_state';

/** The refusal of a SET, which tells the transmitter not to send it again. */
export class SetError extends Error {
  override readonly name = 'SetError';
  readonly code: SetErrorCode;

  constructor(code: SetErrorCode, description: string) {
    super(description);
    this.code = code;
  }
}

/** A SET that was verified, RFC 8417. */
export interface SecurityEvent {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly issuedAt: number;
  /** The URI of its only event. */
  readonly uri: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** `sub_id`, or in older events `subject` of the event. */
  readonly subject: unknown;
  readonly transaction: string | undefined;
}

/** The issuer and the audiences of a SET that is accepted, and its keys. */
export interface ExpectedSet {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly keys: JWTVerifyGetKey;
}

/** The longest SET: an event is a few hundred bytes long. */
const MAX_SET_BYTES = 64 * 1024;
const MAX_ID = 512;

/**
 * Verifies a SET in full.
 *
 * @throws {SetError} for one that is not as expected.
 * @throws the errors of `keys` while the keys of the transmitter cannot be fetched: the SET may be good.
 */
export async function verifiedSet(text: string, expected: ExpectedSet, clock: Clock): Promise<SecurityEvent> {
  if (Buffer.byteLength(text) > MAX_SET_BYTES) throw invalid(`the SET is longer than ${MAX_SET_BYTES} bytes`);
  const payload = await verifiedPayload(text, expected, clock);
  const { iat, jti, exp, sub, events, sub_id: subject, txn } = payload;
  // SSF 1.0 §4.1.7 and §4.1.8: so that no SET passes for an access token or an ID token, nor the other way round.
  if (exp !== undefined || sub !== undefined) throw invalid('a SET has neither exp nor sub');
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw invalid('iat is not a time');
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_ID) throw invalid('jti is not an identifier');
  if (!isObject(events)) throw invalid('events is not an object');
  const [entry, ...others] = Object.entries(events);
  if (entry === undefined || others.length > 0) throw invalid('a SET has exactly one event');
  const [uri, event] = entry;
  if (!isObject(event)) throw invalid('the event is not an object');
  return {
    id: jti,
    issuedAt: iat,
    uri,
    payload: event,
    subject: subject ?? event['subject'],
    transaction: typeof txn === 'string' ? txn : undefined,
  };
}

async function verifiedPayload(
  text: string,
  { issuer, audiences, keys }: ExpectedSet,
  clock: Clock,
): Promise<Readonly<Record<string, unknown>>> {
  const options = {
    typ: 'secevent+jwt',
    algorithms: [...signatureAlgorithms],
    issuer,
    audience: [...audiences],
    requiredClaims: ['iat', 'jti'],
    currentDate: new Date(clock()),
  };
  try {
    return (await jwtVerify(text, keys, options)).payload;
  } catch (error) {
    throw refusalOf(error);
  }
}

/** The claims whose refusal has a code of its own. */
const codes: Readonly<Record<string, SetErrorCode>> = { iss: 'invalid_issuer', aud: 'invalid_audience' };

function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired)
    return new SetError(codes[error.claim] ?? 'invalid_request', error.message);
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return invalid(error.message);
  const isKey =
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSENotSupported;
  if (isKey) return new SetError('invalid_key', error.message);
  // A short RSA key is a TypeError of jose. Everything else says nothing of the SET.
  return error instanceof TypeError ? new SetError('invalid_key', error.message) : error;
}

function invalid(description: string): SetError {
  return new SetError('invalid_request', description);
}

/** The effect of an event on its subject. `revoke`: its tokens end. `drop`: what is cached of them is asked again. */
type Effect = 'revoke' | 'drop' | 'none' | 'malformed';

type Payload = Readonly<Record<string, unknown>>;

const caep = 'https://schemas.openid.net/secevent/caep/event-type/';
const risc = 'https://schemas.openid.net/secevent/risc/event-type/';
const oauth = 'https://schemas.openid.net/secevent/oauth/event-type/';
const ssf = 'https://schemas.openid.net/secevent/ssf/event-type/';

const revoke = (): Effect => 'revoke';
const drop = (): Effect => 'drop';
const none = (): Effect => 'none';

const levels = ['LOW', 'MEDIUM', 'HIGH'];

/**
 * Each event of CAEP 1.0, RISC 1.0 and the OAuth event types, by its URI. An event whose direction is not said counts
 * as one for the worse.
 */
const effects: Readonly<Record<string, (payload: Payload) => Effect>> = {
  [`${caep}session-revoked`]: revoke,
  [`${caep}token-claims-change`]: revoke,
  [`${caep}credential-change`]({ change_type: change }) {
    if (change === 'create') return 'drop';
    return change === 'revoke' || change === 'delete' || change === 'update' ? 'revoke' : 'malformed';
  },
  [`${caep}assurance-level-change`]: ({ change_direction: direction }) =>
    direction === 'increase' ? 'drop' : 'revoke',
  [`${caep}risk-level-change`]({ current_level: current, previous_level: previous }) {
    const [now, before] = [levels.indexOf(String(current)), levels.indexOf(String(previous))];
    if (now === -1) return 'malformed';
    return now === 0 || now < before ? 'drop' : 'revoke';
  },
  [`${caep}device-compliance-change`]({ current_status: status }) {
    if (status === 'compliant') return 'drop';
    return status === 'not-compliant' ? 'revoke' : 'malformed';
  },
  [`${caep}session-established`]: none,
  [`${caep}session-presented`]: none,
  [`${risc}account-disabled`]: revoke,
  [`${risc}account-purged`]: revoke,
  [`${risc}account-credential-change-required`]: revoke,
  [`${risc}credential-compromise`]: revoke,
  [`${risc}sessions-revoked`]: revoke,
  [`${risc}account-enabled`]: drop,
  [`${oauth}tokens-revoked`]: revoke,
  [`${oauth}token-revoked`]: revoke,
};

/** The event by which a transmitter proves that its stream works, SSF 1.0 §8.1.4. */
export const VERIFICATION = `${ssf}verification`;
/** The event by which a transmitter says that its stream was paused, disabled or enabled, SSF 1.0 §8.1.5. */
export const STREAM_UPDATED = `${ssf}stream-updated`;

/** The events that a stream is created for. */
export const requestedEvents: readonly string[] = Object.keys(effects).filter((uri) => effects[uri] !== none);

/** The effect of an event; undefined for one that the gateway does not know. */
export function effectOf(uri: string, payload: Payload): Effect | undefined {
  return Object.hasOwn(effects, uri) ? effects[uri]?.(payload) : undefined;
}

/** The name of an event in logs and metrics: the end of its URI, or `other`, so that no sender can grow a label. */
export function eventName(uri: string): string {
  const isKnown = uri === VERIFICATION || uri === STREAM_UPDATED || Object.hasOwn(effects, uri);
  return isKnown ? uri.slice(uri.lastIndexOf('/') + 1) : 'other';
}
