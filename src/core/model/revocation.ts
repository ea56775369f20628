import type { Principal } from './principal.ts';
import type { Endpoint } from './route.ts';

/** The tokens that a revocation speaks of: those that have every member that is set; without one, all of the issuer. */
export interface RevokedTokens {
  /** `iss` of the tokens, as configured. */
  readonly issuer: string;
  /** `sub`. */
  readonly subject?: string;
  /** `email` in lower case. */
  readonly email?: string;
  /** `email_digest`, of the front door's tokens: {@link emailDigest}. */
  readonly emailDigest?: string;
  /** `sid`. */
  readonly session?: string;
  /** `jti`. */
  readonly token?: string;
}

/** A revocation: it refuses tokens whose `iat` is not after its time. */
export interface Revocation extends RevokedTokens {
  /** Seconds since the epoch, whole. A token of the same second is refused. */
  readonly at: number;
  /** When it arrived, in seconds since the epoch. It is forgotten after `revocation.keep`. */
  readonly arrivedAt: number;
}

/** The news for another process or replica: revocations, and tokens of which only the caches are dropped. */
export interface RevocationNews {
  readonly revocations: readonly Revocation[];
  readonly dropped: readonly RevokedTokens[];
}

/** Answers whether tokens were revoked. */
export interface RevocationCheck {
  /** Whether everything is known. While it is not, no token counts as good. */
  isReady(): boolean;
  /** Whether a revocation refuses the token. */
  revokes(principal: Pick<Principal, 'issuer' | 'subject' | 'issuedAt' | 'claims'>): boolean;
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

/** `revocation`: who may end the rights of whom, and how long that is remembered. */
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

/** An answer to a transmitter or to a caller of the endpoint. */
export interface RevocationAnswer {
  readonly status: number;
  /** A JSON value; undefined: no body. */
  readonly body?: unknown;
}

/** What the endpoints of revocation ask. */
export type RevocationQuestion =
  | { readonly ask: 'push'; readonly source: string; readonly set: string }
  /** A push with a wrong credential. `address`: its client, where the log has addresses. */
  | { readonly ask: 'refused'; readonly source: string; readonly address: string | undefined }
  | { readonly ask: 'endpoint'; readonly body: string; readonly by: string | undefined };

/** Answers a question. */
export type RevocationReceiver = (question: RevocationQuestion) => Promise<RevocationAnswer>;

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
