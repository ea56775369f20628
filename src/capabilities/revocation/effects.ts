import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Principal } from '../../core/model/principal.ts';
import type { RevocationCheck } from '../../ports/revocation.ts';
import type { RevocationNews, RevokedTokens } from './revoked.ts';
import type { AffectedParts } from '../capability.ts';
import { among } from './revocation-index.ts';

interface EffectParts extends AffectedParts {
  readonly check: Pick<RevocationCheck, 'revokes'>;
}

/** The time for which news are gathered: each look at all streams takes time, which a flood of events must not have. */
const GATHER_MS = 20;
const STREAMS_PER_TURN = 100;

/** The effects of revocations on what is open and cached. Requests ask the index themselves: nothing delays them. */
export class RevocationEffects {
  readonly #parts: EffectParts;
  /** Of tokens that were revoked. */
  #issuers = new Set<string>();
  #dropped: RevokedTokens[] = [];
  #isWorking = false;

  constructor(parts: EffectParts) {
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
        if (dropped.length > 0) this.#parts.drop(among(dropped));
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
      if (principal !== undefined && concerns(issuers, principal) && check.revokes(principal))
        withoutStack(() => end(stream));
      left -= 1;
      if (left > 0) continue;
      await setImmediate();
      left = STREAMS_PER_TURN;
    }
  }
}

function concerns(issuers: ReadonlySet<string>, { issuer, actors = [] }: Principal): boolean {
  return issuers.has(issuer) || actors.some((actor) => issuers.has(actor.issuer));
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
