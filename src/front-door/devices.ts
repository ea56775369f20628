/**
 * Devices without a browser, RFC 8628: what is kept of a device code and its user code, and how often each may be used.
 * oidc-provider runs the flow.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { type AdapterPayload, errors } from 'oidc-provider';
import type { Clock } from '../core/lib/clock.ts';
import { digestOf } from '../core/lib/digest.ts';
import { ownMember } from '../core/lib/json/own-member.ts';
import { type Store, Unavailable } from './store.ts';

/** The life of a code, RFC 8628 §3.2. */
export const DEVICE_SECONDS = 600;
/** The least time between two polls of a device. */
export const POLL_SECONDS = 5;
/** How long a device learns that its code has ended: `expired_token`, and no unknown code. */
const ENDED_MS = 120_000;
/** The wrong codes of one address in a minute, RFC 8628 §5.1, and those of a /48 of IPv6, which has 65,536 networks. */
const MAX_WRONG = 5;
const MAX_WRONG_OF_NETWORK = 50;
export const WRONG_SECONDS = 60;
/** The number of times that one code shows its question. */
const MAX_SHOWN = 10;

/** What codes of devices are kept by. */
export interface DeviceParts {
  readonly store: Store;
  readonly clock: Clock;
  /** The address that a request under way comes from, and the network that what is kept counts for. */
  readonly guesser?: () => string;
  readonly network?: () => string;
  /** Whether the person who types a code sees the question of it, and answers none yet. */
  readonly isShowing?: () => boolean;
}

/** An address has typed too many wrong codes. */
export class TooManyCodes extends errors.CustomOIDCProviderError {
  override readonly status = 429;
  override readonly statusCode = 429;

  constructor() {
    super('temporarily_unavailable', 'too many wrong codes came from this network address');
  }
}

/**
 * Keeps a device code, and with a new one its user code. The first answer of a person takes the user code, in one step
 * over all replicas. Resolves with the end of the record, which outlives the code.
 */
export async function saveDevice(id: string, payload: AdapterPayload, store: Store): Promise<number> {
  const { exp = 0, userCode, accountId, error, inFlight } = payload;
  const owner = ownMember(payload['deviceInfo'], 'network');
  const expiresAt = exp * 1000 + ENDED_MS;
  const record = { value: payload, expiresAt, owner: typeof owner === 'string' ? owner : undefined };
  const place = digestOf(String(userCode));
  if (accountId === undefined && error === undefined && inFlight === undefined) {
    // By chance, and once in a lifetime: the person of the other device must not answer for this one.
    if ((await store.get('UserCode', place)) !== undefined) throw new Unavailable('try again');
    await store.set({ ...record, kind: 'UserCode', id: place, value: id, expiresAt: exp * 1000 });
  } else {
    const before = (await store.get('DeviceCode', id)) as AdapterPayload | undefined;
    // After an answer, the sign-in leads the person back here once. Any other answer may rest on an outdated record.
    const comesBack = inFlight === true && (accountId !== undefined || error !== undefined);
    const isAnswered = comesBack ? before?.inFlight === true : (await store.take('UserCode', place)) === id;
    if (before === undefined || !isAnswered) throw new errors.InvalidRequest('the code was used already');
  }
  try {
    await store.set({ ...record, kind: 'DeviceCode', id });
  } catch (error) {
    // A user code without its device code would count until it ends.
    await store.take('UserCode', place);
    throw error;
  }
  return expiresAt;
}

/**
 * The device code of a user code that a person types; undefined for a wrong one. The place of a wrong code is taken
 * before it is looked up, so that guesses at the same time share the limit too.
 *
 * @throws {TooManyCodes}
 */
export async function findByUserCode(
  userCode: string,
  { store, clock, guesser, network, isShowing }: DeviceParts,
): Promise<AdapterPayload | undefined> {
  const guess = randomUUID();
  const guesses = [
    [`wrong codes ${guesser?.() ?? ''}`, MAX_WRONG],
    [`wrong codes of network ${network?.() ?? ''}`, MAX_WRONG_OF_NETWORK],
  ] as const;
  // In turn: what an address is refused does not count for its network.
  for (const [set, most] of guesses)
    if (!(await store.addMember(set, guess, clock() + WRONG_SECONDS * 1000, most))) throw new TooManyCodes();
  const place = digestOf(userCode);
  const id = await store.get('UserCode', place);
  const payload =
    typeof id === 'string' ? ((await store.get('DeviceCode', id)) as AdapterPayload | undefined) : undefined;
  if (typeof id !== 'string' || payload === undefined || (payload.exp ?? 0) * 1000 <= clock()) return undefined;
  if (isShowing?.() === true) {
    const isShown = await store.addMember(`shown ${id}`, guess, (payload.exp ?? 0) * 1000, MAX_SHOWN);
    if (!isShown) return endDevice(id, payload, { store, place, nowMs: clock() });
  }
  for (const [set] of guesses) await store.removeMember(set, guess);
  return payload;
}

/** Ends a code that was shown too often: its device learns that it has expired. */
async function endDevice(
  id: string,
  payload: AdapterPayload,
  { store, place, nowMs }: { readonly store: Store; readonly place: string; readonly nowMs: number },
): Promise<undefined> {
  if ((await store.take('UserCode', place)) !== id) return;
  const owner = ownMember(payload['deviceInfo'], 'network');
  await store.set({
    kind: 'DeviceCode',
    id,
    value: { ...payload, exp: Math.floor(nowMs / 1000) },
    expiresAt: nowMs + ENDED_MS,
    owner: typeof owner === 'string' ? owner : undefined,
  });
}

/**
 * Requires that a device waits between two polls, RFC 8628 §3.5. Of a code that has ended, it may learn so at once.
 *
 * @throws {SlowDown}
 */
export async function requirePace(
  id: string,
  { exp = 0 }: AdapterPayload,
  { store, clock }: DeviceParts,
): Promise<void> {
  if (exp * 1000 <= clock()) return;
  const polls = `polls ${id}`;
  const earlier = await store.takeMembers(polls);
  // Of two polls at once, on two replicas, one finds the member of the other.
  const isFirst = await store.addMember(polls, randomUUID(), clock() + POLL_SECONDS * 1000, 1);
  if (earlier.length > 0 || !isFirst) throw new errors.SlowDown();
}
