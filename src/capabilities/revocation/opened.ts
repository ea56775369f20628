/**
 * Revocation, as the parts of a gateway see it: what keeps it, what follows it, and what it has an effect on.
 *
 * @module
 */

import type { Config } from '../../core/model/config.ts';
import type { Revocation, RevocationCheck, RevocationNews, RevokedTokens } from '../../core/model/revocation.ts';
import type { LogStore, OpenStore } from '../../core/model/store.ts';
import { RevocationIndex } from './revocation-index.ts';
import type { RevocationParts, Revocations } from './revocations.ts';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { OpenStream } from '../../core/gateway/forward/open-streams.ts';

const MAX_IN_MESSAGE = 1_000;

/**
 * Opens the revocation of this process. Loads its code only here: most gateways do without.
 *
 * @throws {RevocationFileFault} if `revocation.file` cannot be used.
 */
export async function openRevocation(parts: RevocationParts): Promise<Revocations> {
  const { Revocations: Opened } = await import('./revocations.ts');
  return Opened.open(parts);
}

/** A message about revocations to another process of the gateway. */
export type RevocationMessage =
  | { readonly kind: 'revoked'; readonly news: RevocationNews }
  /** Whether everything is known that replicas have kept, and how long it is remembered. */
  | { readonly kind: 'revocations-ready'; readonly isReady: boolean; readonly keepMs: number };

/** Everything that a process that begins has to know, in messages of a bounded size. */
export function* everything(check: RevocationIndex): Iterable<RevocationMessage> {
  let revocations: Revocation[] = [];
  for (const revocation of check.all()) {
    revocations.push(revocation);
    if (revocations.length < MAX_IN_MESSAGE) continue;
    yield { kind: 'revoked', news: { revocations, dropped: [] } };
    revocations = [];
  }
  if (revocations.length > 0) yield { kind: 'revoked', news: { revocations, dropped: [] } };
  yield readiness(check);
}

/** Takes a message into the index of this process. */
export function learn(index: RevocationIndex, message: RevocationMessage): void {
  if (message.kind === 'revoked') index.add(message.news.revocations);
  else {
    index.keepFor(message.keepMs);
    index.setReady(message.isReady);
  }
}

/** {@link RevocationMessage} of an index. */
export function readiness(check: RevocationIndex): RevocationMessage {
  return { kind: 'revocations-ready', isReady: check.isReady(), keepMs: check.keepMs };
}

/** The kept revocations of a front door, which reads them from the store; undefined: there is none. */
export async function followStore(
  config: Config,
  { log, openStore }: { readonly log: LogStore; readonly openStore: OpenStore },
): Promise<RevocationIndex | undefined> {
  const { revocation, shared, sessionKey } = config;
  if (revocation === undefined || shared === undefined || sessionKey === undefined) return undefined;
  const { RevocationStore } = await import('./revocation-store.ts');
  const index = new RevocationIndex();
  index.keepFor(revocation.keepMs);
  index.setReady(false);
  const { connection, sealing } = openStore(shared, { sessionKey, clock: Date.now, log });
  const store = new RevocationStore({
    connection,
    sealing,
    clock: Date.now,
    keepMs: () => index.keepMs,
    onNews: (revocations) => index.add(revocations),
    onComplete: () => index.setReady(true),
    known: () => index.all(),
    onCorrupt: (key) => log('warn', 'shared store holds a revocation that no replica wrote', { key }),
  });
  void store.follow();
  return index;
}

/** The parts of a process that revocations have an effect on. */
export interface AffectedParts {
  readonly check: Pick<RevocationCheck, 'revokes'>;
  /** The open streams. Those that end while they are iterated are left out. */
  readonly open: () => Iterable<OpenStream>;
  readonly end: (stream: OpenStream) => void;
  /** Drops what is cached of tokens. */
  readonly drop: (tokens: readonly RevokedTokens[]) => void;
}

/** The time for which news are gathered: each look at all streams takes time, which a flood of events must not have. */
const GATHER_MS = 20;
const STREAMS_PER_TURN = 100;

/** The effects of revocations on what is open and cached. Requests ask the index themselves: nothing delays them. */
export class RevocationEffects {
  readonly #parts: AffectedParts;
  /** Of tokens that were revoked. */
  #issuers = new Set<string>();
  #dropped: RevokedTokens[] = [];
  #isWorking = false;

  constructor(parts: AffectedParts) {
    this.#parts = parts;
  }

  /** Ends the streams of revoked tokens, and drops caches. The index has the revocations already. */
  take({ revocations, dropped }: RevocationNews): void {
    for (const { issuer } of revocations) this.#issuers.add(issuer);
    this.#dropped.push(...dropped);
    if (!this.#isWorking) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    try {
      while (this.#issuers.size > 0 || this.#dropped.length > 0) {
        await setTimeout(GATHER_MS, undefined, { ref: false });
        const [issuers, dropped] = [this.#issuers, this.#dropped];
        this.#issuers = new Set();
        this.#dropped = [];
        if (dropped.length > 0) this.#parts.drop(dropped);
        if (issuers.size > 0) await this.#endStreams(issuers);
      }
    } finally {
      this.#isWorking = false;
    }
  }

  /** Ends some in each turn of the event loop, so that requests are served meanwhile. */
  async #endStreams(issuers: ReadonlySet<string>): Promise<void> {
    const { open, check, end } = this.#parts;
    let left = STREAMS_PER_TURN;
    for (const stream of open()) {
      const { principal } = stream.grant;
      if (principal !== undefined && issuers.has(principal.issuer) && check.revokes(principal))
        withoutStack(() => end(stream));
      left -= 1;
      if (left > 0) continue;
      await setImmediate();
      left = STREAMS_PER_TURN;
    }
  }
}

/** The end of a stream makes errors that no person reads. Their stacks would take a third of its time. */
function withoutStack(action: () => void): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    action();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
