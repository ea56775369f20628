/** The thread that tries drafts of policies. It keeps nothing of a draft after its answer. @module */

import { parentPort } from 'node:worker_threads';
import { type DraftTask, tryDraft } from './draft.ts';
import type { DraftMessage } from './draft-thread.ts';

function say(message: DraftMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there is none
  parentPort?.postMessage(message);
}

parentPort?.on('message', (task: DraftTask) => {
  tryDraft(task).then(
    (answer) => say({ answer }),
    (error: unknown) => say({ fault: error instanceof Error ? error.message : String(error) }),
  );
});
// The modules are loaded.
say({ isReady: true });
