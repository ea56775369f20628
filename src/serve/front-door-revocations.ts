/**
 * How a gateway learns of tokens that the front door has revoked. Loaded with the first configuration that has a front
 * door and a shared store.
 *
 * @module
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { OpenStream } from '../core/gateway/forward/open-streams.ts';
import { Denial } from '../core/model/denial.ts';
import type { StoreParts } from '../ports/store.ts';
import { revocationsFor, type RevocationListener } from '../tokens/revoked-tokens.ts';

interface RevocationParts extends Pick<RevocationListener, 'onRevoked'> {
  /** The open streams whose tokens the front door issued. */
  readonly streams: () => readonly OpenStream[];
}

/** Creates the subscription to revoked tokens. Revocations that were missed are found by asking about open streams. */
export function frontDoorRevocations({ onRevoked, streams }: RevocationParts): StoreParts['subscription'] {
  const revalidateStreams = createRevalidation(streams);
  return revocationsFor({ onRevoked, onMissed: () => void revalidateStreams() });
}

/** The pause before the server is asked again about tokens for which it gave no answer. */
const RETRY_MS = 2_000;

/**
 * Creates the validation of all streams of one authorization server, after revocations were missed. It asks about one
 * token after another, so that a server that has just come back is not flooded, and asks again while the server is
 * unavailable. A refusal ends the streams of its token by itself. A later call takes the place of an earlier one.
 *
 * @param streams The open streams whose tokens the server issued.
 */
export function createRevalidation(streams: () => readonly OpenStream[], retryMs = RETRY_MS): () => Promise<void> {
  let newest = 0;
  return async () => {
    newest += 1;
    const own = newest;
    for (let left = streams(); left.length > 0; left = stillOpen(left)) {
      const unanswered: OpenStream[] = [];
      for (const stream of left) {
        if (own !== newest) return;
        if (!(await isAnswered(stream))) unanswered.push(stream);
      }
      left = unanswered;
      if (left.length > 0) await wait(retryMs, undefined, { ref: false });
    }
  };

  function stillOpen(left: readonly OpenStream[]): readonly OpenStream[] {
    const open = new Set(streams());
    return left.filter((stream) => open.has(stream));
  }
}

async function isAnswered({ held }: OpenStream): Promise<boolean> {
  try {
    await held?.revalidate();
    return true;
  } catch (error) {
    return !(error instanceof Denial && error.reason === 'authorization_server.unavailable');
  }
}
