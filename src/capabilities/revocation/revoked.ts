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
