import type { ProcessParts } from '../../src/capabilities/capability.ts';

/** The parts of a process that counts, logs and shares nothing. */
export const quietParts: ProcessParts = {
  clock: Date.now,
  events: { returned() {}, tokenLookup() {} },
  log() {},
  answers: undefined,
  store: () => undefined,
  replays: { firstSeen: () => true },
  meters: { add() {}, set() {} },
  share() {},
};
