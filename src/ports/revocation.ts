import type { Principal } from '../core/model/principal.ts';

/** Answers whether tokens were revoked. */
export interface RevocationCheck {
  /** Whether everything is known. While it is not, no token counts as good. */
  isReady(): boolean;
  /** Whether a revocation refuses the token. */
  revokes(token: RevocableToken): boolean;
  /** The revocation that refuses the token; undefined: none does. */
  refusing(token: RevocableToken): RefusingRevocation | undefined;
}

type RevocableToken = Pick<Principal, 'issuer' | 'subject' | 'issuedAt' | 'claims'> &
  Partial<Pick<Principal, 'clientId' | 'actors'>>;

/** Whose tokens a revocation refuses, as far as a refusal says it. */
export interface RefusingRevocation {
  readonly client?: string;
  /** `sub` of a party in the chain of `act`. */
  readonly actor?: string;
  /** Seconds since the epoch: tokens that were issued until then are refused. */
  readonly at: number;
}

/** Answers what revocations mean for the front door. */
export interface FrontDoorRevocations extends RevocationCheck {
  /** Whether a client gets no token at the front door, whose issuer this is, until an operator lifts it. */
  blocks(issuer: string, client: string): boolean;
  /** Whether what a client got at the front door at a time has ended for good, although its revocation was lifted. */
  hasEnded(issuer: string, client: string, issuedAt: number | undefined): boolean;
}

/** The command of an operator: a subject, a client (of a subject) or an actor at its issuer, or an address. */
export interface RevokeCommand {
  readonly subject?: string;
  readonly client?: string;
  readonly actor?: string;
  readonly issuer?: string;
  readonly email?: string;
}

/** The revocation that a command made. */
export interface RevokedByCommand {
  readonly id: string;
  /** Whether the client gets no token at the front door until the revocation is lifted. */
  readonly blocks: boolean;
  /** Whether tokens of the issuer are accepted here. An actor may be of another one. */
  readonly isKnownIssuer: boolean;
}

/** Revocation, for operators. */
export interface OperatorRevocations {
  /** What is remembered, from the place `from` on. */
  page(from: number): RevocationPage;
  /** Carries out a command. Resolves with the problem, a text, or with what is kept. */
  revoke(command: RevokeCommand): Promise<string | readonly RevokedByCommand[]>;
  /** Withdraws a revocation. Resolves with the problem; undefined: it is withdrawn. */
  lift(id: string): Promise<string | undefined>;
  state(): RevocationState;
}

/** A part of what is remembered. */
export interface RevocationPage {
  /** A JSON line each. */
  readonly lines: string;
  /** Where the next part begins; undefined: this is the last one. */
  readonly next: number | undefined;
}

/** The sources of revocations, and how full the memory is. */
export interface RevocationState {
  readonly kept: number;
  readonly most: number;
  readonly sources: readonly SourceState[];
}

/** A source of events. */
export interface SourceState {
  readonly name: string;
  /** Whether its events arrive; undefined: another replica sees to it. */
  readonly up: boolean | undefined;
  /** Why they do not. */
  readonly problem: string | undefined;
  /** When the last one arrived here, in milliseconds since the epoch. */
  readonly lastEventAt: number | undefined;
}
