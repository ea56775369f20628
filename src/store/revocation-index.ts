import type { Clock } from '../lib/clock.ts';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import type { Claims, Principal } from '../model/principal.ts';
import { MAX_REVOCATIONS, type Revocation, type RevocationCheck, type RevokedTokens } from '../model/revocation.ts';

type Member = Exclude<keyof RevokedTokens, 'issuer'>;
const members: readonly Member[] = ['subject', 'email', 'emailDigest', 'session', 'token'];
/** The combinations of members that a revocation can name. */
const kinds = {
  '': [],
  subject: ['subject'],
  email: ['email'],
  emailDigest: ['emailDigest'],
  session: ['session'],
  token: ['token'],
  'subject session': ['subject', 'session'],
  'email session': ['email', 'session'],
  'emailDigest session': ['emailDigest', 'session'],
} as const satisfies Readonly<Record<string, readonly Member[]>>;
type Kind = keyof typeof kinds;

/** The revocations of one issuer: by kind, then by {@link keyFor}. */
type OfIssuer = Map<Kind, Map<string, Revocation>>;

/** How often revocations that are past their time are removed, while there are any. */
const SWEEP_MS = 10 * 60_000;

/**
 * The revocations that a process knows. A token costs one look-up for each combination of identities that some
 * revocation of its issuer names.
 */
export class RevocationIndex implements RevocationCheck {
  readonly #clock: Clock;
  readonly #issuers = new Map<string, OfIssuer>();
  /** Callers that no revocation refuses, with the {@link #version} in which they were looked up. */
  readonly #good = new WeakMap<object, number>();
  /** Counts the changes. */
  #version = 0;
  #size = 0;
  #ready = true;
  #keepMs = Infinity;
  #sweptAt = -Infinity;
  /** No revocation arrived earlier, in milliseconds. */
  #oldest = Infinity;

  constructor(clock: Clock = Date.now) {
    this.#clock = clock;
  }

  get size(): number {
    this.#sweep();
    return this.#size;
  }

  isReady(): boolean {
    return this.#ready;
  }

  setReady(isReady: boolean): void {
    this.#ready = isReady;
  }

  get keepMs(): number {
    return this.#keepMs;
  }

  /** Sets how long a revocation is remembered after its arrival. */
  keepFor(keepMs: number): void {
    this.#keepMs = keepMs;
    this.#sweptAt = -Infinity;
  }

  /** Adds revocations. Of two for the same tokens, the later time counts. Returns how many changed anything. */
  add(revocations: readonly Revocation[]): number {
    this.#sweep();
    let changed = 0;
    for (const revocation of revocations) if (this.#put(revocation)) changed += 1;
    return changed;
  }

  /** The revocation that is known for exactly these tokens. */
  get(tokens: RevokedTokens): Revocation | undefined {
    const kind = kindOf(tokens);
    return this.#issuers.get(tokens.issuer)?.get(kind)?.get(keyFor(kind, tokens));
  }

  /** Whether there is no room for a revocation of these tokens. */
  isFullFor(tokens: RevokedTokens, max = MAX_REVOCATIONS): boolean {
    return this.size >= max && this.get(tokens) === undefined;
  }

  revokes(principal: Parameters<RevocationCheck['revokes']>[0]): boolean {
    const ofIssuer = this.#issuers.get(principal.issuer);
    // A principal stays the same object while its token is cached.
    if (ofIssuer === undefined || this.#good.get(principal) === this.#version) return false;
    const isRevoked = isRevokedBy(ofIssuer, principal);
    if (!isRevoked) this.#good.set(principal, this.#version);
    return isRevoked;
  }

  /** Every revocation that is remembered. */
  *all(): Iterable<Revocation> {
    this.#sweep();
    for (const ofIssuer of this.#issuers.values()) for (const entries of ofIssuer.values()) yield* entries.values();
  }

  #put(revocation: Revocation): boolean {
    if (revocation.arrivedAt * 1000 + this.#keepMs <= this.#clock()) return false;
    const ofIssuer = this.#issuers.get(revocation.issuer) ?? new Map<Kind, Map<string, Revocation>>();
    this.#issuers.set(revocation.issuer, ofIssuer);
    const kind = kindOf(revocation);
    const entries = ofIssuer.get(kind) ?? new Map<string, Revocation>();
    ofIssuer.set(kind, entries);
    const key = keyFor(kind, revocation);
    const before = entries.get(key);
    if (before !== undefined && before.at >= revocation.at) return false;
    entries.set(key, revocation);
    this.#version += 1;
    this.#oldest = Math.min(this.#oldest, revocation.arrivedAt * 1000);
    if (before === undefined) this.#size += 1;
    return true;
  }

  #sweep(): void {
    const now = this.#clock();
    if (this.#oldest + this.#keepMs > now || now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    this.#oldest = Infinity;
    for (const [issuer, ofIssuer] of this.#issuers) {
      for (const [kind, entries] of ofIssuer) {
        for (const [key, { arrivedAt }] of entries) {
          if (arrivedAt * 1000 + this.#keepMs > now) {
            this.#oldest = Math.min(this.#oldest, arrivedAt * 1000);
            continue;
          }
          entries.delete(key);
          this.#size -= 1;
        }
        if (entries.size === 0) ofIssuer.delete(kind);
      }
      if (ofIssuer.size === 0) this.#issuers.delete(issuer);
    }
  }
}

function isRevokedBy(
  ofIssuer: OfIssuer,
  { issuer, subject, issuedAt, claims }: Parameters<RevocationCheck['revokes']>[0],
): boolean {
  const named = identitiesOf(issuer, subject, claims);
  // A revoked `jti` is one token: a later time of issue cannot make it another one.
  if (ofIssuer.get('token')?.has(named.token ?? '') === true) return true;
  for (const [kind, revocations] of ofIssuer) {
    if (kind === 'token' || !has(kind, named)) continue;
    const revocation = revocations.get(keyFor(kind, named));
    if (revocation !== undefined && (issuedAt === undefined || Math.floor(issuedAt) <= revocation.at)) return true;
  }
  return false;
}

/** A text for the tokens of a revocation: equal ones are merged. */
export function revokedKey(tokens: RevokedTokens): string {
  const kind = kindOf(tokens);
  return lengthPrefixed([tokens.issuer, kind, keyFor(kind, tokens)]);
}

/** Whether a token is among those. */
export function isAmong(
  tokens: RevokedTokens,
  { issuer, subject, claims }: Pick<Principal, 'issuer' | 'subject' | 'claims'>,
): boolean {
  const named = identitiesOf(issuer, subject, claims);
  const kind = kindOf(tokens);
  return issuer === tokens.issuer && has(kind, named) && keyFor(kind, named) === keyFor(kind, tokens);
}

/** The identities of a token, as a revocation would name them. */
function identitiesOf(issuer: string, subject: string | undefined, claims: Claims): RevokedTokens {
  const { sid, jti, email, email_verified: verified, email_digest: digest } = claims;
  return {
    issuer,
    ...(subject !== undefined && { subject }),
    ...(typeof sid === 'string' && { session: sid }),
    ...(typeof jti === 'string' && { token: jti }),
    ...(typeof email === 'string' && verified !== false && { email: lowerCase(email) }),
    ...(typeof digest === 'string' && { emailDigest: digest }),
  };
}

/** A text without its ASCII capitals. */
export function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function kindOf(tokens: RevokedTokens): Kind {
  const kind = members.filter((member) => tokens[member] !== undefined).join(' ');
  if (isKind(kind)) return kind;
  throw new TypeError(`no revocation names ${kind}`);
}

function isKind(text: string): text is Kind {
  return Object.hasOwn(kinds, text);
}

function membersOf(kind: Kind): readonly Member[] {
  return kinds[kind];
}

function has(kind: Kind, tokens: RevokedTokens): boolean {
  return membersOf(kind).every((member) => tokens[member] !== undefined);
}

function keyFor(kind: Kind, tokens: RevokedTokens): string {
  const named = membersOf(kind);
  const [only, ...others] = named;
  if (only === undefined || others.length === 0) return (only && tokens[only]) ?? '';
  return lengthPrefixed(named.map((member) => tokens[member] ?? ''));
}
