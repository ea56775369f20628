import { hash } from 'node:crypto';
import { parsedJson } from '../../core/lib/json/parsed.ts';

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
  /** The client of the tokens. */
  readonly client?: string;
  /** `sid`. */
  readonly session?: string;
  /** `jti`. */
  readonly token?: string;
  /** `sub` of a party in the chain of `act`; `issuer` is then that of the party. */
  readonly actor?: string;
  /** Instead: the revocation that is withdrawn, as {@link identityOf} writes it. */
  readonly lifted?: string;
}

/** A revocation: it refuses tokens whose `iat` is not after its time. */
export interface Revocation extends RevokedTokens {
  /** Seconds since the epoch, whole. A token of the same second is refused. */
  readonly at: number;
  /** When it arrived, in seconds since the epoch. It is forgotten after `revocation.keep`. */
  readonly arrivedAt: number;
  /** The client gets no token at the front door until the revocation is lifted. Such a one is never forgotten. */
  readonly blocks?: true;
}

const identifying = ['issuer', 'subject', 'email', 'emailDigest', 'client', 'session', 'token', 'actor'] as const;

/** A text for a revocation itself, which a later one of the same tokens does not have. */
export function identityOf(revocation: Revocation): string {
  const { at, arrivedAt, blocks = false } = revocation;
  return JSON.stringify([at, arrivedAt, blocks, ...identifying.map((name) => revocation[name] ?? null)]);
}

/** The revocation of an {@link identityOf}; undefined for any other text. */
export function revocationOf(identity: string): Revocation | undefined {
  const parts = parsedJson(identity);
  if (!Array.isArray(parts)) return undefined;
  const [at, arrivedAt, blocks, ...texts] = parts as readonly unknown[];
  const named = identifying.flatMap((name, index) => (texts[index] === null ? [] : [[name, texts[index]] as const]));
  return { ...Object.fromEntries(named), at, arrivedAt, ...(blocks === true && { blocks }) } as Revocation;
}

/** The id of a revocation, by which operators withdraw it. */
export function revocationId(revocation: Revocation): string {
  return hash('sha256', identityOf(revocation), 'base64url').slice(0, 22);
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
