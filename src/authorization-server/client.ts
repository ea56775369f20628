import type { Random } from '../lib/back-off.ts';
import type { Clock } from '../lib/clock.ts';
import type {
  AuthorizationServer,
  AuthorizationServerClient,
  ServerOperation,
  ServerState,
} from '../model/authorization-server.ts';
import { type CallOptions, type CountServerCall, createServerCalls } from './calls.ts';
import { createClientAuthentication } from './client-authentication.ts';
import { createDiscovery } from './discovery.ts';

/** What else a client needs of its surroundings. */
export interface ServerClientOptions {
  /** Told when the server goes away, comes back, or refuses us. Default: nobody is told. */
  readonly report?: Report;
  /** Spreads what replicas do at intervals. Default `Math.random`. */
  readonly random?: Random;
}

/** Creates the way to `server` and begins to discover it, if need be; an unreachable server is no error here. */
export function createServerClient(
  server: AuthorizationServer,
  count: CountServerCall,
  clock: Clock,
  { report = () => {}, random = Math.random }: ServerClientOptions = {},
): AuthorizationServerClient {
  const health = createServerHealth(server, report, clock);
  let closed = false;
  const calls = createServerCalls(
    server,
    {
      count,
      failed(operation) {
        // It may be away as a whole, which the operator should see before all of it is missed.
        if (operation !== 'discovery') discovery.check();
      },
      circuitChanged: changed,
      credentialsRefused: health.credentialsRefused,
    },
    clock,
    random,
  );
  const discovery = createDiscovery(
    server,
    {
      get: (url) => calls.ask('discovery', url),
      recovered: calls.recovered,
      attempted: changed,
    },
    clock,
    random,
  );
  const authenticated = createClientAuthentication(server.issuer, clock);

  function changed(): void {
    if (!closed) health.update(state());
  }

  function state(): ServerState {
    const circuits = calls.circuits();
    const problem = discovery.problem() ?? calls.problem();
    const base = { name: server.name, issuer: server.issuer };
    const trouble = { ...(problem !== undefined && { problem }), ...(circuits !== undefined && { circuits }) };
    if (discovery.problem() !== undefined) {
      return { ...base, state: discovery.isKnown() ? 'stale' : 'unavailable', ...trouble };
    }
    if (circuits !== undefined) return { ...base, state: 'degraded', ...trouble };
    return { ...base, state: discovery.isKnown() || calls.answered ? 'available' : 'unknown' };
  }

  if (needsMetadata(server)) discovery.check();

  return {
    server,
    get: (operation, url) => calls.ask(operation, url),
    post(operation, url, form, credentials, { accept = 'application/json', onBehalfOf } = {}) {
      const request = async (): Promise<CallOptions> => {
        const { body, headers } = await authenticated(form, credentials);
        return { method: 'POST', body, headers: { accept, ...headers } };
      };
      return calls.ask(operation, url, request, onBehalfOf);
    },
    metadata: discovery.metadata,
    state,
    close() {
      closed = true;
      discovery.close();
      calls.close();
    },
  };
}

/** Where every endpoint is configured, a server without metadata is no worse for it. */
function needsMetadata({ jwt, introspection }: AuthorizationServer): boolean {
  return (
    (jwt !== undefined && jwt.jwksUri === undefined) ||
    (introspection !== undefined && introspection.endpoint === undefined)
  );
}

/** Tells the operator something; one line in the log. */
type Report = (level: 'info' | 'warn' | 'error', message: string, fields: Readonly<Record<string, unknown>>) => void;

/** Tells what an authorization server is like when that changes, and not at each request that feels it. */
interface ServerHealth {
  /** Reports a state that is better or worse than the one before. */
  update(state: ServerState): void;
  /** Reports, at most once a minute, that the server refuses us ourselves. */
  readonly credentialsRefused: (operation: ServerOperation, url: string) => void;
}

const CREDENTIALS_EVERY_MS = 60_000;

/** What works: everything, what is known already, nothing. */
const severity = { unknown: 0, available: 0, degraded: 1, stale: 1, unavailable: 2 } as const;

/** Creates the reports on `server`, of which nothing is known yet. */
function createServerHealth(server: AuthorizationServer, report: Report, clock: Clock): ServerHealth {
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
