import type { Call } from './call.ts';
import type { ShadowDenial } from './denial.ts';
import type { CallerGrant, Grant, PresentedToken, UpstreamCredential } from './grant.ts';
import type { CallOutcome, CountedCall } from './history.ts';

type Soon<Value> = Value | Promise<Value>;

/**
 * A step between the policy's decision and the credential.
 * Gates of a route run in the order of `capabilities/all.ts`.
 */
export interface Gate {
  /** Names its span; undefined: it has none of its own. */
  readonly span?: string;
  /** Requires what it is for. @returns what the call holds until it is answered. @throws {Denial} */
  enter(call: Call, grant: Grant): Soon<CountedCall | undefined | void>;
  /** Judges as {@link enter}, and takes nothing: no person is asked about a call that would be refused afterwards. */
  judge?(call: Call, grant: Grant): Soon<void>;
  /** Requires the same of the call of an open stream, after a reload. */
  reconsider?(grant: Grant): void;
  /** The same gate where a proxy asks, which shows no body; default: this one. */
  readonly ofQuestions?: Gate;
}

/** Where the credential for an upstream comes from. */
export interface CredentialSource {
  /** Names its span; undefined: it has none of its own. */
  readonly span?: string;
  /** The `Authorization` value for the upstream; at once unless a server has to be asked. @throws {Denial} */
  obtain(grant: CallerGrant, token: PresentedToken | undefined): Soon<UpstreamCredential>;
  /** Called when the upstream answers 401 to a credential; undefined: the gateway cannot get another one. */
  readonly onUnauthorized?: (grant: CallerGrant) => void;
}

/**
 * What several gates hold of one call. A class: V8 makes a hidden class for each object literal with a getter, in the
 * old generation.
 */
class HeldTogether implements CountedCall {
  readonly #one: CountedCall;
  readonly #other: CountedCall;

  constructor(one: CountedCall, other: CountedCall) {
    this.#one = one;
    this.#other = other;
  }

  get id(): string {
    return this.#other.id;
  }

  get approval(): string | undefined {
    return this.#one.approval ?? this.#other.approval;
  }

  get shadow(): ShadowDenial | undefined {
    return this.#one.shadow ?? this.#other.shadow;
  }

  get settling(): Promise<void> | undefined {
    const [one, other] = [this.#one.settling, this.#other.settling];
    return one && other ? bothEnd(one, other) : (one ?? other);
  }

  settle(outcome: CallOutcome, why?: string, id = this.id): void {
    this.#one.settle(outcome, why, id);
    this.#other.settle(outcome, why, id);
  }
}

async function bothEnd(one: Promise<void>, other: Promise<void>): Promise<void> {
  await Promise.all([one, other]);
}

/** What a call holds, with what a further gate gave it. */
export function heldTogether(
  before: CountedCall | undefined,
  held: CountedCall | undefined | void,
): CountedCall | undefined {
  return before && held ? new HeldTogether(before, held) : (held ?? before);
}
