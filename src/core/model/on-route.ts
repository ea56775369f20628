import type { Call } from './call.ts';
import type { AccessToken, Action, AskAboutList } from './grant.ts';
import type { CredentialSource, Gate } from './gate.ts';
import type { Principal } from './principal.ts';

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
  /** Called when the header section of the upstream's answer is complete, unless it refused the call. */
  readonly begun?: (call: Call, isEventStream: boolean) => void;
}

/** What a capability does with the messages of every answer on an MCP route, whatever was asked. */
export interface AnswerPart {
  /**
   * `reads`: it takes note of messages, and what it cannot read passes. `guards`: it may change them, in answers with
   * an error too, and what it cannot read does not pass.
   */
  readonly does: 'reads' | 'guards';
  /**
   * Whether it judges the result of a call: it must read the answer then, however long that is. Where it is present,
   * tasks and event ids that the route gives out name the tool of their call.
   */
  readonly judges?: (action: Action) => boolean;
  /** Takes a message of the answer to an action. @returns the text in its place; undefined: the same, as of `reads`. */
  take(text: string, action: Action): string | undefined;
}
