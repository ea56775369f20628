import type { Random } from './circuit-breaker.ts';
import type { Clock } from '../lib/clock.ts';
import type { AuthorizationServer, AuthorizationServerClient, ServerState } from '../model/authorization-server.ts';
import { createClientAuthentication } from './client-authentication.ts';
import { createDiscovery } from './discovery.ts';
import { createServerCalls, type CallOptions, type CountServerCall } from './calls.ts';
import { createServerHealth, type Report } from './health.ts';

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
      cameBack: calls.trust,
      tried: changed,
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
    post(operation, url, form, credentials, { accept = 'application/json', asker } = {}) {
      const request = async (): Promise<CallOptions> => {
        const { body, headers } = await authenticated(form, credentials);
        return { method: 'POST', body, headers: { accept, ...headers } };
      };
      return calls.ask(operation, url, request, asker);
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
