import { setTimeout } from 'node:timers/promises';
import type { OpenStream } from '../pipeline/forward/open-streams.ts';
import { Denial } from '../model/denial.ts';

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
        // oxlint-disable-next-line no-await-in-loop: one after another
        if (!(await isAnswered(stream))) unanswered.push(stream);
      }
      left = unanswered;
      // oxlint-disable-next-line no-await-in-loop
      if (left.length > 0) await setTimeout(retryMs, undefined, { ref: false });
    }
  };

  function stillOpen(left: readonly OpenStream[]): readonly OpenStream[] {
    const open = new Set(streams());
    return left.filter((stream) => open.has(stream));
  }
}

/** Whether the server has answered for the token of a stream, with yes or no. */
async function isAnswered({ held }: OpenStream): Promise<boolean> {
  try {
    await held?.revalidate();
    return true;
  } catch (error) {
    return !(error instanceof Denial && error.reason === 'authorization_server.unavailable');
  }
}
