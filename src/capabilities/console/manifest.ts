/**
 * The console of operators at the admin listener, `docs/console.md`.
 *
 * @module
 */

import { pageUrl } from '../../core/config/values.ts';
import type { Capability } from '../capability.ts';
import type { ProcessState } from './messages.ts';
import { consoleSettings } from './settings.ts';

export const operatorConsole: Capability = {
  name: 'console',
  readSection: (root) => consoleSettings.with({ grafana: root.get('console').get('grafana').read(pageUrl) }),
  observe: async (clock) => (await import('./questions.ts')).observeProcess(clock),
  joinStates: joinObserved,
  openAdmin: async (parts) => (await import('./pages.ts')).openConsole(parts),
};

function joinObserved(states: readonly object[]): Pick<ProcessState, 'openStreams' | 'certificateExpires'> {
  const ofProcesses = states as readonly ProcessState[];
  return {
    openStreams: ofProcesses.reduce((sum, { openStreams }) => sum + openStreams, 0),
    certificateExpires: ofProcesses[0]?.certificateExpires,
  };
}
