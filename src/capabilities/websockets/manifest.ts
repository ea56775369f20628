/**
 * WebSockets, `docs/configuration.md`.
 *
 * @module
 */

import type { Capability } from '../capability.ts';
import { lazilyOn } from '../lazily.ts';
import { readUpgrade, webSockets } from './settings.ts';

export const webSocketUpgrades: Capability = {
  name: 'upgrade',
  readsPublic: true,
  read: () => (field, route) => {
    const upgrade = readUpgrade(field.get('upgrade'), route);
    return upgrade && webSockets.with({ upgrade });
  },
  upgradeOf: (route) => webSockets.of(route)?.upgrade,
  // The library brings Node's HTTPS and HTTP/2, a tenth of the time of a start.
  openProcess: lazilyOn(
    ({ upgrade }) => upgrade !== undefined,
    async () => {
      const { createForwardUpgrade } = await import('./upgrade.ts');
      return () => ({ open: () => ({ of: () => ({}), forwardUpgrade: createForwardUpgrade }) });
    },
  ),
};
