import type { Principal } from './principal.ts';
import type { Endpoint } from './endpoint.ts';

/** Answers whether tokens were revoked. */
export interface RevocationCheck {
  /** Whether everything is known. While it is not, no token counts as good. */
  isReady(): boolean;
  /** Whether a revocation refuses the token. */
  revokes(
    principal: Pick<Principal, 'issuer' | 'subject' | 'issuedAt' | 'claims'> &
      Partial<Pick<Principal, 'clientId' | 'actors'>>,
  ): boolean;
}

/** Answers what revocations mean for the front door. */
export interface FrontDoorRevocations extends RevocationCheck {
  /** Whether a client gets no token at the front door, whose issuer this is, until an operator lifts it. */
  blocks(issuer: string, client: string): boolean;
  /** Whether what a client got at the front door at a time has ended for good, although its revocation was lifted. */
  hasEnded(issuer: string, client: string, issuedAt: number | undefined): boolean;
}

/** Whose tokens a source may revoke. */
export interface RevocationTarget {
  /** The name of the authorization server, or of the front door's identity provider. */
  readonly name: string;
  /** Every `iss` by which a source names the subjects. */
  readonly issuers: readonly string[];
  /** `iss` of the tokens. */
  readonly tokenIssuer: string;
  /** Whether it is an identity provider: the front door gives its people subjects of their own. */
  readonly isProvider: boolean;
  /** Whether it is a platform, whose workloads have subjects of their own too. */
  readonly isWorkload?: boolean;
}

/** A Shared Signals transmitter, `revocation.events.NAME`. */
export interface EventSource {
  readonly name: string;
  /** Compared byte for byte. */
  readonly issuer: string;
  readonly audience: string;
  /** Those whose people it speaks of first, then the others. */
  readonly targets: readonly RevocationTarget[];
  readonly delivery: 'push' | 'poll';
  /** Where it pushes; undefined with `poll`. */
  readonly path: string | undefined;
  /** The `Authorization` value that it pushes with; undefined: any. */
  readonly authorization: string | undefined;
  /** The bearer token for its endpoints; undefined: the stream is managed elsewhere. */
  readonly token: string | undefined;
  /** The origins of the endpoints that get the token. */
  readonly endpointOrigins: ReadonlySet<string>;
  readonly stream: 'create' | 'existing';
  readonly streamId: string | undefined;
}

/** `revocation`: whose rights a transmitter or an operator may end, and how long that is remembered. */
export interface RevocationSettings {
  readonly keepMs: number;
  /** The absolute path of the file that keeps revocations; undefined: in `shared`, or in memory. */
  readonly file: string | undefined;
  readonly sources: ReadonlyMap<string, EventSource>;
  /** Global token revocation; undefined: there is no endpoint. */
  readonly endpoint: RevocationEndpoint | undefined;
  /** Whose tokens operators may revoke: those of every authorization server and identity provider. */
  readonly commandTargets: readonly RevocationTarget[];
}

/** The endpoint of global token revocation. */
export interface RevocationEndpoint {
  /** What its callers must show. It has no upstream. */
  readonly route: Endpoint;
  readonly targets: readonly RevocationTarget[];
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
