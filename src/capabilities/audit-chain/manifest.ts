/**
 * The hash chain of the log, `docs/auditing.md`.
 *
 * @module
 */

import type { Capability } from '../capability.ts';
import { chainSettings } from './settings.ts';

export const auditChain: Capability = {
  name: 'log.chain',
  readSection(root) {
    const settings = root.get('log').get('chain').settings();
    return settings && chainSettings.with(settings);
  },
  restarts: { 'log.chain': { slot: chainSettings } },
  metrics: {
    sallyport_log_checkpoints_total: { kind: 'counter', help: 'Signed checkpoints of the log', labels: ['output'] },
  },
  openLines: async (config, clock, meters) =>
    chainSettings.of(config) && (await import('./opened.ts')).openChains(config, clock, meters),
  verifyLog: async (files, keys) => (await import('./verify.ts')).verifyLog(files, keys),
};
