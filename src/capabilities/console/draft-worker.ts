/** The process that tries drafts of policies. It keeps nothing of a draft after its answer. @module */

import { type DraftTask, tryDraft } from './draft.ts';
import type { DraftMessage } from './draft-process.ts';
import { messageOf } from '../../core/lib/wording.ts';

function say(message: DraftMessage): void {
  process.send?.(message);
}

process.on('message', (task: DraftTask) => {
  tryDraft(task).then(
    (answer) => say({ answer }),
    (error: unknown) => say({ fault: messageOf(error) }),
  );
});
// The gateway has ended.
process.on('disconnect', () => process.exit());
// The modules are loaded.
say({});
