import type { Principal } from './principal.ts';

/** Answers whether tokens were revoked. */
export interface RevocationCheck {
  /** Whether everything is known. While it is not, no token counts as good. */
  isReady(): boolean;
  /** Whether a revocation refuses the token. */
  revokes(principal: Pick<Principal, 'issuer' | 'subject' | 'issuedAt' | 'claims'>): boolean;
}

/** The command of an operator: a subject at its issuer, or an address. */
export interface RevokeCommand {
  readonly subject?: string;
  readonly issuer?: string;
  readonly email?: string;
}

/** Revocation, for operators. */
export interface OperatorRevocations {
  /** What is remembered, from the place `from` on. */
  page(from: number): RevocationPage;
  /** Carries out a command. Resolves with the problem; undefined: it is kept. */
  revoke(command: RevokeCommand): Promise<string | undefined>;
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
