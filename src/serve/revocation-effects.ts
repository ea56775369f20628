import { setImmediate, setTimeout } from 'node:timers/promises';
import type { RevocationCheck, RevocationNews, RevokedTokens } from '../model/revocation.ts';
import type { OpenStream } from '../pipeline/forward/open-streams.ts';

/** The parts of a process that revocations have an effect on. */
export interface AffectedParts {
  readonly check: Pick<RevocationCheck, 'revokes'>;
  /** The open streams. Those that end while they are iterated are left out. */
  readonly open: () => Iterable<OpenStream>;
  readonly end: (stream: OpenStream) => void;
  /** Drops what is cached of tokens. */
  readonly drop: (tokens: readonly RevokedTokens[]) => void;
}

/** How long news are gathered: each look at all streams takes time, which a flood of events must not have. */
const GATHER_MS = 20;
/** The streams of one turn of the event loop. */
const STEP = 100;

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
        // oxlint-disable-next-line no-await-in-loop: one after another
        await setTimeout(GATHER_MS, undefined, { ref: false });
        const [issuers, dropped] = [this.#issuers, this.#dropped];
        this.#issuers = new Set();
        this.#dropped = [];
        if (dropped.length > 0) this.#parts.drop(dropped);
        // oxlint-disable-next-line no-await-in-loop
        if (issuers.size > 0) await this.#endStreams(issuers);
      }
    } finally {
      this.#isWorking = false;
    }
  }

  /** Some in each turn of the event loop, so that requests are served meanwhile. */
  async #endStreams(issuers: ReadonlySet<string>): Promise<void> {
    const { open, check, end } = this.#parts;
    let left = STEP;
    for (const stream of open()) {
      const { principal } = stream.grant;
      if (principal !== undefined && issuers.has(principal.issuer) && check.revokes(principal))
        withoutStack(() => end(stream));
      left -= 1;
      if (left > 0) continue;
      // oxlint-disable-next-line no-await-in-loop
      await setImmediate();
      left = STEP;
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
