/**
 * The console of operators at the admin listener, `docs/console.md`.
 *
 * @module
 */

import type { Capability } from '../capability.ts';
import type { ObservedState } from './questions.ts';
import { consoleSettings } from './settings.ts';

export const operatorConsole: Capability = {
  name: 'console',
  readSection: (root) => consoleSettings.with(root.get('console').settings()),
  observe: async (clock) => (await import('./questions.ts')).observeProcess(clock),
  joinStates: (states: readonly ObservedState[]) => ({
    openStreams: states.reduce((sum, { openStreams }) => sum + openStreams, 0),
    certificateExpires: states[0]?.certificateExpires,
  }),
  openAdmin: async (parts) => (await import('./pages.ts')).openConsole(parts),
};
