const RETRY_MS = 1_000;
/** Bounds memory; the oldest are forgotten first. */
const MAX_WAITING = 20_000;

/**
 * Announces revoked tokens until the store has taken them. A gateway that missed one refuses the token at its next
 * introspection, but keeps its open streams until the token expires: a store that does not answer for a moment must not
 * keep them open.
 */
export class RevokedTokenAnnouncements {
  readonly #publish: (digests: readonly string[]) => Promise<void>;
  readonly #retryMs: number;
  readonly #waiting = new Set<string>();
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param publish Tells all gateways on one store. */
  constructor(publish: (digests: readonly string[]) => Promise<void>, retryMs = RETRY_MS) {
    this.#publish = publish;
    this.#retryMs = retryMs;
  }

  /** Resolves after the first attempt. Later ones follow until the store takes the message. */
  announce(digests: readonly string[]): Promise<void> {
    for (const digest of digests) this.#waiting.add(digest);
    for (const oldest of [...this.#waiting].slice(0, -MAX_WAITING)) this.#waiting.delete(oldest);
    return this.#send();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
  }

  async #send(): Promise<void> {
    const sent = [...this.#waiting];
    try {
      await this.#publish(sent);
      for (const digest of sent) this.#waiting.delete(digest);
    } catch {
      clearTimeout(this.#retry);
      if (!this.#isClosed) this.#retry = setTimeout(() => void this.#send(), this.#retryMs).unref();
    }
  }
}
