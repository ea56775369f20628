import type { Random } from '../../core/lib/back-off.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { AuthorizationServer } from '../../core/model/authorization-server.ts';
import type { AuthorizationServerClient, ServerState } from '../../ports/authorization-server-client.ts';
import type { ServerOperation, CountServerCall } from '../../core/model/events.ts';
import { type CallOptions, createServerCalls } from './calls.ts';
import { createClientAuthentication } from './client-authentication.ts';
import { createDiscovery } from './discovery.ts';

/** Options of {@link createServerClient}. */
export interface ServerClientOptions {
  /**
   * Called when the server becomes unavailable or available, or refuses the gateway's credentials. Default: nothing.
   */
  readonly report?: Report;
  /** Spreads the periodic calls of replicas. Default `Math.random`. */
  readonly random?: Random;
}

/**
 * Creates a client for `server` and starts its discovery, if its settings need it. An unreachable server is no error.
 */
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
        // The whole server may be unavailable: the operator should see that before more operations fail.
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
    // One location of the metadata may fail while another has them.
    const isDegraded = Object.keys(circuits ?? {}).some((operation) => operation !== 'discovery');
    if (isDegraded) return { ...base, state: 'degraded', ...trouble };
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

/** If every endpoint is configured, missing metadata are no fault. */
function needsMetadata({ jwt, introspection }: AuthorizationServer): boolean {
  return (
    (jwt !== undefined && jwt.jwksUri === undefined && jwt.keySet === undefined) ||
    (introspection !== undefined && introspection.endpoint === undefined)
  );
}

type Report = (level: 'info' | 'warn' | 'error', message: string, fields: Readonly<Record<string, unknown>>) => void;

/** Reports changes of an authorization server's state, once each and not at every affected request. */
interface ServerHealth {
  /** Reports a state that is better or worse than the last. */
  update(state: ServerState): void;
  /** Reports, at most once a minute, that the server refuses the gateway's own credentials. */
  readonly credentialsRefused: (operation: ServerOperation, url: string) => void;
}

const CREDENTIALS_EVERY_MS = 60_000;

/** 0: everything works. 1: the cached part works. 2: nothing works. */
const severity = { unknown: 0, available: 0, degraded: 1, stale: 1, unavailable: 2 } as const;

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
      const problem = 'it refuses the credentials of the gateway: check client_id and its secret or key';
      report('error', 'authorization server refuses us', { server: server.name, operation, endpoint, problem });
    },
  };
}
