import type { Kind } from './scenarios/requests.ts';

/** The budgets that all kinds of request share. */
const shared = {
  'src/pipeline/listen': 1.5,
  'src/pipeline/route': 0.5,
  'src/pipeline/authenticate': 1,
  'src/pipeline/limit': 0.3,
  'src/pipeline/exchange': 0.3,
  'src/pipeline/forward': 3,
  'src/telemetry': 3,
  'src/pipeline/pipeline.ts': 1,
  'src/serve/gateway': 1,
  'src/serve': 0.3,
  'src/policy': 0.5,
};

const calls = {
  ...shared,
  'src/pipeline/authorize': 0.5,
  'src/policy': 1,
  'src/lib': 1,
  'src/lib/json': 2,
  'src/mcp': 3,
};

/**
 * The largest time of each stage over the floor's, in percent of the floor's total. The floor runs in the same profile,
 * so that budgets carry over from one machine to another. The total is the aim of the scenario.
 */
export const budgets: Readonly<Record<Kind, Readonly<Record<string, number>>>> = {
  get: { ...shared, total: 15 },
  opaque: { ...shared, total: 18 },
  post: { ...calls, total: 20 },
  'post-modern': { ...calls, total: 20 },
  list: { ...calls, total: 20 },
};
