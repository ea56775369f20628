import type { Clock } from '../../core/lib/clock.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { lowerCase } from '../../core/lib/ascii.ts';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { FrontDoorRevocations, RevocationCheck } from '../../ports/revocation.ts';
import { identityOf, type Revocation, revocationOf, type RevokedTokens } from './revoked.ts';
import type { RevocationRoom } from './place.ts';
import { ensure } from '../../core/lib/remembered.ts';

type Member = Exclude<keyof RevokedTokens, 'issuer'>;
/** How a token has each member that a revocation can name; undefined: it has none. */
const memberOf = {
  subject: ({ subject }) => subject,
  email: ({ claims: { email, email_verified: verified } }) =>
    verified === false ? undefined : textOf(typeof email === 'string' ? lowerCase(email) : email),
  emailDigest: ({ claims }) => textOf(claims['email_digest']),
  client: ({ clientId }) => textOf(clientId),
  session: ({ claims }) => textOf(claims['sid']),
  token: ({ claims }) => textOf(claims['jti']),
  // A token may have several, each of an issuer of its own: they are looked up apart.
  actor: () => undefined,
  // It refuses nothing.
  lifted: () => undefined,
} as const satisfies Readonly<Record<Member, (token: RevocableToken) => string | undefined>>;
const members = Object.keys(memberOf) as Member[];
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
  'subject token': ['subject', 'token'],
  'email token': ['email', 'token'],
  'emailDigest token': ['emailDigest', 'token'],
  client: ['client'],
  'subject client': ['subject', 'client'],
  'email client': ['email', 'client'],
  'emailDigest client': ['emailDigest', 'client'],
  actor: ['actor'],
  lifted: ['lifted'],
} as const satisfies Readonly<Record<string, readonly Member[]>>;
type Kind = keyof typeof kinds;

type RevocableToken = Pick<Principal, 'subject' | 'claims'> & Partial<Pick<Principal, 'clientId' | 'actors'>>;
/** The members that a token has, or that a revocation names. */
type Named = Readonly<Partial<Record<Member, string>>>;

/** Revocations by kind, then by {@link keyFor}. */
type ByKind = Map<Kind, Map<string, Revocation>>;

/** The revocations of one issuer. */
interface OfIssuer {
  readonly entries: ByKind;
  /**
   * Those of several members, by each part of them: they also refuse a token that lacks the other members, such as a
   * token of the person without `sid`. More ends than was asked, never less.
   */
  readonly parts: ByKind;
  /** The clients of lifted blocks, with the time until which their grants and registrations ended, in seconds. */
  readonly endedClients: Map<string, number>;
  /** What the entries and their parts take. */
  size: number;
  bytes: number;
}

/** How often revocations that are past their time are removed, while there are any. */
const SWEEP_MS = 10 * 60_000;

/**
 * The revocations that a process knows. A token costs one look-up for each combination of identities that some
 * revocation of its issuer names.
 */
export class RevocationIndex implements FrontDoorRevocations {
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
    return this.#issuers.get(tokens.issuer)?.entries.get(kind)?.get(keyFor(kind, tokens));
  }

  /** Whether its issuer has no room for a revocation of these tokens. */
  isFullFor(tokens: RevokedTokens, { entries, bytes }: RevocationRoom): boolean {
    this.#sweep();
    const ofIssuer = this.#issuers.get(tokens.issuer);
    if (ofIssuer === undefined || this.get(tokens) !== undefined) return false;
    return ofIssuer.size >= entries || ofIssuer.bytes + bytesOf(kindOf(tokens), tokens) > bytes;
  }

  /** The share of its room that an issuer uses, 0 to 1. */
  used(issuer: string, { entries, bytes }: RevocationRoom): number {
    this.#sweep();
    const { size = 0, bytes: taken = 0 } = this.#issuers.get(issuer) ?? {};
    return Math.min(1, Math.max(size / entries, taken / bytes));
  }

  revokes(principal: Parameters<RevocationCheck['revokes']>[0]): boolean {
    return this.refusing(principal) !== undefined;
  }

  refusing(principal: Parameters<RevocationCheck['refusing']>[0]): Revocation | undefined {
    if (this.#issuers.size === 0) return undefined;
    // A principal stays the same object while its token is cached.
    if (this.#good.get(principal) === this.#version) return undefined;
    const ofIssuer = this.#issuers.get(principal.issuer);
    const refusing = (ofIssuer && refusingOf(ofIssuer, principal)) ?? this.#refusingActorOf(principal);
    if (refusing === undefined) this.#good.set(principal, this.#version);
    return refusing;
  }

  /** Whether exactly this revocation was withdrawn. */
  isLifted(revocation: Revocation): boolean {
    return this.#issuers.get(revocation.issuer)?.entries.get('lifted')?.has(identityOf(revocation)) === true;
  }

  /** Whether a client gets no token at the front door, whose issuer this is. */
  blocks(issuer: string, client: string): boolean {
    return this.get({ issuer, client })?.blocks === true;
  }

  /** Whether what a client got at the front door at a time has ended for good, although its revocation was lifted. */
  hasEnded(issuer: string, client: string, issuedAt: number | undefined): boolean {
    const endedAt = this.#issuers.get(issuer)?.endedClients.get(client);
    return endedAt !== undefined && (issuedAt === undefined || Math.floor(issuedAt) <= endedAt);
  }

  /** Every revocation that is remembered, and what was lifted. */
  *all(): Iterable<Revocation> {
    this.#sweep();
    for (const { entries } of this.#issuers.values()) for (const ofKind of entries.values()) yield* ofKind.values();
  }

  #put(revocation: Revocation): boolean {
    if (this.#isPast(revocation)) return false;
    const kind = kindOf(revocation);
    const ofIssuer = ensure(this.#issuers, revocation.issuer, newIssuer);
    if (kind !== 'lifted' && this.isLifted(revocation)) return false;
    const ofKind = ensure(ofIssuer.entries, kind, () => new Map<string, Revocation>());
    const key = keyFor(kind, revocation);
    const before = ofKind.get(key);
    if (before !== undefined && before.at >= revocation.at) return false;
    ofKind.set(key, revocation);
    for (const partKey of partKeys(kind, revocation)) putPart(ofIssuer.parts, kind, partKey, revocation);
    if (revocation.lifted !== undefined) this.#lift(ofIssuer, revocation.lifted, revocation.arrivedAt);
    this.#version += 1;
    if (revocation.blocks !== true) this.#oldest = Math.min(this.#oldest, revocation.arrivedAt * 1000);
    if (before !== undefined) return true;
    this.#size += 1;
    ofIssuer.size += 1;
    ofIssuer.bytes += bytesOf(kind, revocation);
    return true;
  }

  #refusingActorOf({ actors = [], issuedAt }: Parameters<RevocationCheck['refusing']>[0]): Revocation | undefined {
    for (const { issuer, subject } of actors) {
      const revocation = this.#issuers.get(issuer)?.entries.get('actor')?.get(subject);
      if (revocation !== undefined && (issuedAt === undefined || Math.floor(issuedAt) <= revocation.at))
        return revocation;
    }
    return undefined;
  }

  /** Withdraws a revocation, unless a later one of the same tokens has taken its place. */
  #lift(ofIssuer: OfIssuer, identity: string, liftedAt: number): void {
    const lifted = revocationOf(identity);
    if (lifted === undefined) return;
    const { client, blocks } = lifted;
    // Until then, so that nothing counts that a replica issued before it knew of the block.
    if (blocks === true && client !== undefined)
      ofIssuer.endedClients.set(client, Math.max(liftedAt, ofIssuer.endedClients.get(client) ?? 0));
    const kind = kindOf(lifted);
    const ofKind = ofIssuer.entries.get(kind);
    const key = keyFor(kind, lifted);
    const revocation = ofKind?.get(key);
    if (ofKind === undefined || revocation === undefined || identityOf(revocation) !== identity) return;
    ofKind.delete(key);
    this.#forget(ofIssuer, kind, revocation);
    ofIssuer.parts.delete(kind);
    for (const left of ofKind.values())
      for (const partKey of partKeys(kind, left)) putPart(ofIssuer.parts, kind, partKey, left);
    if (ofKind.size === 0) ofIssuer.entries.delete(kind);
  }

  #forget(ofIssuer: OfIssuer, kind: Kind, revocation: Revocation): void {
    this.#size -= 1;
    ofIssuer.size -= 1;
    ofIssuer.bytes -= bytesOf(kind, revocation);
  }

  #isPast({ arrivedAt, blocks }: Revocation): boolean {
    return blocks !== true && arrivedAt * 1000 + this.#keepMs <= this.#clock();
  }

  #sweep(): void {
    const now = this.#clock();
    if (this.#oldest + this.#keepMs > now || now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    this.#oldest = Infinity;
    for (const [issuer, ofIssuer] of this.#issuers) {
      this.#sweepEnded(ofIssuer.entries, (kind, revocation) => this.#forget(ofIssuer, kind, revocation));
      this.#sweepEnded(ofIssuer.parts);
      if (ofIssuer.entries.size === 0 && ofIssuer.parts.size === 0) this.#issuers.delete(issuer);
    }
  }

  #sweepEnded(byKind: ByKind, onRemoved?: (kind: Kind, revocation: Revocation) => void): void {
    for (const [kind, ofKind] of byKind) {
      for (const [key, revocation] of ofKind) {
        if (!this.#isPast(revocation)) {
          if (revocation.blocks !== true) this.#oldest = Math.min(this.#oldest, revocation.arrivedAt * 1000);
          continue;
        }
        ofKind.delete(key);
        onRemoved?.(kind, revocation);
      }
      if (ofKind.size === 0) byKind.delete(kind);
    }
  }
}

function newIssuer(): OfIssuer {
  return { entries: new Map(), parts: new Map(), endedClients: new Map(), size: 0, bytes: 0 };
}

/** What a revocation takes at most: its object, its keys, and with several members those of its parts. */
function bytesOf(kind: Kind, tokens: Named): number {
  const named = membersOf(kind);
  let length = 0;
  for (const member of named) length += tokens[member]?.length ?? 0;
  return named.length < 2 ? 200 + 2 * length : 500 + 6 * length;
}

function putPart(parts: ByKind, kind: Kind, key: string, { issuer, at, arrivedAt }: Revocation): void {
  const ofKind = ensure(parts, kind, () => new Map<string, Revocation>());
  const before = ofKind.get(key);
  ofKind.set(key, {
    issuer,
    at: Math.max(at, before?.at ?? at),
    arrivedAt: Math.max(arrivedAt, before?.arrivedAt ?? arrivedAt),
  });
}

function refusingOf(
  { entries, parts }: OfIssuer,
  { issuedAt, ...token }: Parameters<RevocationCheck['refusing']>[0],
): Revocation | undefined {
  const named = membersOfToken(token);
  // A revoked `jti` is one token: a later time of issue cannot make it another one.
  const ofToken = entries.get('token')?.get(named.token ?? '');
  if (ofToken !== undefined) return ofToken;
  for (const [kind, ofKind] of entries) {
    if (kind === 'token') continue;
    const byPresent = has(kind, named) ? ofKind : parts.get(kind);
    const revocation = byPresent?.get(keyFor(kind, named));
    if (revocation !== undefined && (issuedAt === undefined || Math.floor(issuedAt) <= revocation.at))
      return revocation;
  }
  return undefined;
}

/**
 * Whether a JSON value is a revocation. One with a member that this version does not know speaks of fewer tokens than
 * the other members say.
 */
export function isRevocation(value: unknown): value is Revocation {
  if (!isObject(value)) return false;
  const { issuer, at, arrivedAt, blocks = true, ...named } = value;
  const { lifted } = named;
  return (
    typeof issuer === 'string' &&
    blocks === true &&
    Number.isInteger(at) &&
    Number.isInteger(arrivedAt) &&
    Object.entries(named).every(([name, text]) => Object.hasOwn(memberOf, name) && typeof text === 'string') &&
    isKind(members.filter((member) => Object.hasOwn(named, member)).join(' ')) &&
    (typeof lifted !== 'string' || isRevocation(revocationOf(lifted)))
  );
}

/** A text for the tokens of a revocation: equal ones are merged. */
export function revokedKey(tokens: RevokedTokens): string {
  const kind = kindOf(tokens);
  return lengthPrefixed([tokens.issuer, kind, keyFor(kind, tokens)]);
}

/** Whether a token is among those that are listed, whenever it was issued. */
export function among(listed: readonly RevokedTokens[]): RevocationCheck['revokes'] {
  const index = new RevocationIndex();
  index.add(listed.map((tokens) => ({ ...tokens, at: Infinity, arrivedAt: 0 })));
  return (token) => index.revokes(token);
}

function membersOfToken(token: RevocableToken): Named {
  const named: Partial<Record<Member, string>> = {};
  for (const member of members) {
    const text = memberOf[member](token);
    if (text !== undefined) named[member] = text;
  }
  return named;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function kindOf(tokens: Named): Kind {
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

function has(kind: Kind, tokens: Named): boolean {
  return membersOf(kind).every((member) => tokens[member] !== undefined);
}

/** {@link keyFor} tokens that have some of several members, and lack the others. */
function partKeys(kind: Kind, tokens: Named): readonly string[] {
  const named = membersOf(kind);
  return named.length < 2 ? [] : named.map((member) => keyFor(kind, { [member]: tokens[member] }));
}

/** A member that is lacking is an empty text, which no member is. */
function keyFor(kind: Kind, tokens: Named): string {
  const named = membersOf(kind);
  const [only, ...others] = named;
  if (only === undefined || others.length === 0) return (only && tokens[only]) ?? '';
  return lengthPrefixed(named.map((member) => tokens[member] ?? ''));
}
