import type { ProcessParts, RouteParts } from '../../src/capabilities/capability.ts';

/** The parts of a process that counts, logs and shares nothing. */
export const quietParts: ProcessParts = {
  clock: Date.now,
  events: { returned() {}, tokenLookup() {} },
  log() {},
  answers: undefined,
  store: () => undefined,
  replays: { firstSeen: () => true },
  showPage: async () => {},
  meters: { add() {}, set() {} },
  share() {},
};

/** The parts of a route without gates, whose tokens stay valid. */
export const quietRoute: RouteParts = { revalidate: async () => {}, later: () => [], stateOf: () => '' };
