import type { Call } from './call.ts';
import type { ShadowDenial } from './denial.ts';
import type {
  AccessToken,
  Action,
  AskAboutList,
  CallerGrant,
  Grant,
  PresentedToken,
  UpstreamCredential,
} from './grant.ts';
import type { CallOutcome, CountedCall } from './history.ts';
import type { Principal } from './principal.ts';

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

/** Requires a call to carry a proof of the key with this thumbprint, made for this token and request. */
export type CheckProof = (call: Call, token: AccessToken, thumbprint: string, owner: string) => Promise<void>;

/** Takes proofs of possession where `Endpoint.proofs` says so. */
export interface ProofTaker {
  readonly check: CheckProof;
  /** The value of `DPoP-Nonce`; undefined: a proof needs none. */
  readonly nonce: (() => string) | undefined;
}

/** Tells the upstream of the caller in a header field, one of `Upstream.statements`. */
export interface StatesCaller {
  readonly header: string;
  /** The value. `decision` is the id of the decision that allowed the call. */
  readonly of: (principal: Principal, decision: string) => string;
}

/** What a capability does on one route. */
export interface OnRoute {
  readonly gate?: Gate;
  /** Makes the credential for the upstream; undefined: `upstream.token` says what it is. */
  readonly credential?: CredentialSource;
  readonly states?: StatesCaller;
  readonly proofs?: ProofTaker;
  /** Whether it reads all arguments of a call: none may have a variant that another parser would take. */
  readonly readsArguments?: boolean;
  /** Decides which entries of a list a caller sees, besides the policy. */
  readonly askAboutList?: AskAboutList;
  readonly answers?: AnswerPart;
}

/** What a capability does with the messages of every answer on an MCP route, whatever was asked. */
export interface AnswerPart {
  /**
   * `reads`: it takes note of messages, and what it cannot read passes. `guards`: it may change them, in answers with
   * an error too, and what it cannot read does not pass.
   */
  readonly does: 'reads' | 'guards';
  /** Takes a message of the answer to an action. @returns the text in its place; undefined: the same, as of `reads`. */
  take(text: string, action: Action): string | undefined;
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

/** The settings of capabilities, which `Slot` reads. */
interface Holder {
  readonly slots?: ReadonlyMap<object, object> | undefined;
}

/**
 * The place of a capability's settings in a route or in the whole configuration. It carries their type, so that neither
 * need know it.
 */
export class Slot<Settings extends object> {
  /** The settings; undefined: the capability is not used there. */
  of({ slots }: Holder): Settings | undefined {
    return slots?.get(this) as Settings | undefined;
  }

  /** The settings as an entry of the slots. */
  with(settings: Settings): readonly [Slot<object>, object] {
    return [this, settings];
  }
}
