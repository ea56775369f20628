import type { Sealing, SharedStore, Subscription } from '../ports/store.ts';

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
  { connection, sealing }: Pick<SharedStore, 'connection' | 'sealing'>,
  digests: readonly string[],
): Promise<void> {
  const channel = channelOf(sealing);
  for (let start = 0; start < digests.length; start += MAX_DIGESTS) {
    const message = sealing.seal(channel, JSON.stringify(digests.slice(start, start + MAX_DIGESTS)));
    await connection.run('publish', channel, (client) => client.sPublish(channel, message));
  }
}

/** The subscription of a gateway to revoked tokens. */
export function revocationsFor({ onRevoked, onMissed }: RevocationListener): (sealing: Sealing) => Subscription {
  return (sealing) => {
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
  };
}

/** Replicas with another session key have another channel. */
function channelOf(sealing: Sealing): string {
  return sealing.place('channel', 'revoked tokens');
}
