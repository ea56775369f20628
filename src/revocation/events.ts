/**
 * The events that the gateway understands: CAEP 1.0, RISC 1.0, the OAuth event types, and those of SSF 1.0 itself.
 *
 * @module
 */

/** What an event means for its subject. `revoke`: its tokens end. `drop`: what is cached of them is asked again. */
type Effect = 'revoke' | 'drop' | 'none' | 'malformed';

/** A member of an event, as its definition lists the values. */
type Payload = Readonly<Record<string, unknown>>;

const caep = 'https://schemas.openid.net/secevent/caep/event-type/';
const risc = 'https://schemas.openid.net/secevent/risc/event-type/';
const oauth = 'https://schemas.openid.net/secevent/oauth/event-type/';
const ssf = 'https://schemas.openid.net/secevent/ssf/event-type/';

const revoke = (): Effect => 'revoke';
const drop = (): Effect => 'drop';
const none = (): Effect => 'none';

const levels = ['LOW', 'MEDIUM', 'HIGH'];

/** Each event, by its URI. An event whose direction is not said counts as one for the worse. */
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

/** What an event means; undefined for one that the gateway does not know. */
export function effectOf(uri: string, payload: Payload): Effect | undefined {
  return Object.hasOwn(effects, uri) ? effects[uri]?.(payload) : undefined;
}

/** The name of an event in logs and metrics: the end of its URI, or `other`, so that no sender can grow a label. */
export function eventName(uri: string): string {
  const isKnown = uri === VERIFICATION || uri === STREAM_UPDATED || Object.hasOwn(effects, uri);
  return isKnown ? uri.slice(uri.lastIndexOf('/') + 1) : 'other';
}
