/**
 * Locked tools, `docs/locked-tools.md`.
 *
 * @module
 */

import { isLockedKind } from '../../core/model/mcp.ts';
import type { Attempt } from '../../core/model/policy.ts';
import type { Route } from '../../core/model/route.ts';
import type { Capability } from '../capability.ts';
import { lazilyOn } from '../lazily.ts';
import { lockCommands } from './commands.ts';
import { lockMetrics } from './metrics.ts';
import type { LockStates } from './opened.ts';
import { reasons } from './reasons.ts';
import { lockOf } from './settings.ts';

export const lock: Capability = {
  name: 'lock',
  policyFiles: {
    suffix: '.lock.yaml',
    async read(folder) {
      if (folder.having('lock').size === 0) return { problems: [], texts: new Map(), ofRoute: () => [] };
      return (await import('./lock-file.ts')).readLocks(folder);
    },
  },
  reasons,
  metrics: lockMetrics,
  openProcess: lazilyOn(
    (route) => lockOf.of(route) !== undefined,
    async () => (await import('./opened.ts')).openLocks,
  ),
  joinStates: ([first]: readonly LockStates[]) => ({ locks: first?.locks ?? [] }),
  commands: { after: 'check', of: lockCommands },
  examine: async (config) => (await import('./doctor.ts')).examineLocks(config),
  notesOn(route, attempt) {
    if (!mayRefuse(route, attempt)) return [];
    return lockOf.of(route)?.isStrict === true ? [note, strictNote] : [note];
  },
};

const note = 'lock: deny: the running gateway also refuses what is not as approved, and sallyport doctor compares it';
const strictNote = 'calls: strict: it also refuses arguments that the approved schema does not allow or name';

/** Whether the lock of a route may refuse an attempt that its policy allows. */
function mayRefuse(route: Pick<Route, 'slots'>, attempt: Attempt): boolean {
  if (lockOf.of(route)?.mode !== 'deny' || attempt.kind !== 'mcp') return false;
  return attempt.targets.some(({ kind }) => isLockedKind(kind));
}
