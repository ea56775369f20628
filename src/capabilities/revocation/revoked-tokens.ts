import type { StoreConnection, Subscription } from '../shared-store/connection.ts';
import type { Sealing } from '../shared-store/sealing.ts';

/** The longest message that is read: an attacker with access to the store could send one of any length. */
const MAX_BYTES = 256 * 1024;
/** The digests of one message, so that its length stays below {@link MAX_BYTES}. */
const MAX_DIGESTS = 1000;

/** The effects that revocations of the front door have in a gateway. */
export interface RevocationListener {
  /** Called with tokens that ended before they expired, by their SHA-256 (base64url). */
  readonly onRevoked: (digests: readonly string[]) => void;
  /** Called after each connection: revocations before it were missed. */
  readonly onMissed: () => void;
}

/**
 * Publishes revoked tokens to every gateway on the store. The messages are sealed: only a replica with the session key
 * can end a token, and a reader learns nothing.
 *
 * @throws {StoreError} while the store is unavailable.
 */
export async function publishRevoked(
  connection: StoreConnection,
  sealing: Sealing,
  digests: readonly string[],
): Promise<void> {
  const channel = channelOf(sealing);
  for (let start = 0; start < digests.length; start += MAX_DIGESTS) {
    const message = sealing.seal(channel, JSON.stringify(digests.slice(start, start + MAX_DIGESTS)));
    await connection.run('publish', channel, (client) => client.sPublish(channel, message));
  }
}

/** The subscription of a gateway to revoked tokens. */
export function revocationsFor({ onRevoked, onMissed }: RevocationListener, sealing: Sealing): Subscription {
  const channel = channelOf(sealing);
  return {
    channel,
    onSubscribed: onMissed,
    onMessage(message) {
      const text = message.length > MAX_BYTES ? undefined : sealing.open(channel, message);
      // Only a replica can have written a sealed text.
      if (text !== undefined) onRevoked(JSON.parse(text) as readonly string[]);
    },
  };
}

/** Replicas with another session key have another channel. */
function channelOf(sealing: Sealing): string {
  return sealing.place('channel', 'revoked tokens');
}

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

  /** @param publish {@link publishRevoked}, at one store. */
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
