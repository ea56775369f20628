import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer, ServerOperation, ServerState } from '../model/authorization-server.ts';

/** Tells the operator something; one line in the log. */
export type Report = (
  level: 'info' | 'warn' | 'error',
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => void;

/** Tells what an authorization server is like when that changes, and not at each request that feels it. */
export interface ServerHealth {
  /** Reports a state that is better or worse than the one before. */
  update(state: ServerState): void;
  /** Reports, at most once a minute, that the server refuses us ourselves. */
  readonly credentialsRefused: (operation: ServerOperation, url: string) => void;
}

const CREDENTIALS_EVERY_MS = 60_000;

/** What works: everything, what is known already, nothing. */
const severity = { unknown: 0, available: 0, degraded: 1, stale: 1, unavailable: 2 } as const;

/** Creates the reports on `server`, of which nothing is known yet. */
export function createServerHealth(server: AuthorizationServer, report: Report, clock: Clock): ServerHealth {
  let known = 0;
  let credentialsAt = -Infinity;
  return {
    update({ state, problem, circuits }) {
      const now = severity[state];
      if (now === known) return;
      known = now;
      if (now === 0) report('info', 'authorization server available again', { server: server.name });
      else {
        const level = now === 1 ? 'warn' : 'error';
        report(level, 'authorization server unavailable', { server: server.name, state, problem, circuits });
      }
    },
    credentialsRefused(operation, endpoint) {
      const passed = clock() - credentialsAt;
      if (passed >= 0 && passed < CREDENTIALS_EVERY_MS) return;
      credentialsAt = clock();
      const problem = 'it refuses our credentials: check client_id and its secret or key';
      report('error', 'authorization server refuses us', { server: server.name, operation, endpoint, problem });
    },
  };
}
