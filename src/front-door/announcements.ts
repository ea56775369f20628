import type { Store } from './store.ts';

/** Tells the gateways on the store of revoked tokens. */
export interface Announcements {
  /** Resolves after the first attempt. Later ones follow until the store takes the message. */
  announce(tokens: readonly string[]): Promise<void>;
  close(): void;
}

const RETRY_MS = 1_000;
/** Bounds memory; the oldest are forgotten first. */
const MAX_WAITING = 20_000;

/**
 * Creates the announcements. A gateway that missed one refuses the token at its next introspection, but keeps its open
 * streams until the token expires: a store that does not answer for a moment must not keep them open.
 */
export function createAnnouncements(store: Pick<Store, 'publishRevoked'>, retryMs = RETRY_MS): Announcements {
  const waiting = new Set<string>();
  let retry: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function publish(): Promise<void> {
    const sent = [...waiting];
    try {
      await store.publishRevoked(sent);
      for (const each of sent) waiting.delete(each);
    } catch {
      clearTimeout(retry);
      if (!isClosed) retry = setTimeout(() => void publish(), retryMs).unref();
    }
  }

  return {
    announce(tokens) {
      for (const each of tokens) waiting.add(each);
      for (const oldest of [...waiting].slice(0, -MAX_WAITING)) waiting.delete(oldest);
      return publish();
    },
    close() {
      isClosed = true;
      clearTimeout(retry);
    },
  };
}
