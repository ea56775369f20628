/**
 * The hash chain of the log, `docs/auditing.md`.
 *
 * @module
 */

import type { Capability } from '../capability.ts';

export const auditChain: Capability = {
  name: 'log.chain',
  openLines: async (config, clock) =>
    config.log.chain === undefined ? undefined : (await import('./opened.ts')).openChains(config, clock),
  verifyLog: async (files, keys) => (await import('./verify.ts')).verifyLog(files, keys),
};
