import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ServerOperation } from '../model/authorization-server.ts';
import { toolOf, type KnownCall, type Outcome } from '../model/outcome.ts';
import type { ForwardObserver } from '../model/observer.ts';
import type { Route } from '../model/route.ts';

/** Everything that `/metrics` shows. Labels come from the configuration and from closed sets, never from a caller. */
export interface Metrics extends ForwardObserver {
  readonly registry: Registry;
  decision(outcome: Outcome): void;
  /** A call was answered with `status`, by the upstream or by ourselves. */
  readonly answered: (route: Route | undefined, call: Pick<KnownCall, 'method'>, status: number) => void;
  readonly tokenCache: (kind: string, result: string) => void;
  readonly serverCall: (server: string, operation: ServerOperation, result: string) => void;
  configLoaded(hash: string): void;
  reloadFailed(): void;
}

/** From a cached decision (tens of µs) to a slow introspection (seconds). */
const decisionSeconds = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];
const upstreamSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** RFC 9110 §9 and RFC 5789; the rest is `other`. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
/** The label of a call that met no route. */
const NO_ROUTE = '';

/** Creates the metrics in a registry of their own. They outlive a configuration. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const decisions = new Counter({
    name: 'sallyport_decisions_total',
    help: 'Authorization decisions',
    labelNames: ['route', 'decision', 'reason'],
    registers,
  });
  const toolCalls = new Counter({
    name: 'sallyport_tool_calls_total',
    help: 'Decisions on tools/call, by the tool as the policy names it',
    labelNames: ['route', 'tool', 'decision'],
    registers,
  });
  const decisionDuration = new Histogram({
    name: 'sallyport_decision_duration_seconds',
    help: 'From the arrival of a request to its decision',
    labelNames: ['route'],
    buckets: decisionSeconds,
    registers,
  });
  const upstreamDuration = new Histogram({
    name: 'sallyport_upstream_duration_seconds',
    help: 'From the request to the header section of the upstream',
    labelNames: ['route'],
    buckets: upstreamSeconds,
    registers,
  });
  const requests = new Counter({
    name: 'sallyport_requests_total',
    help: 'Requests answered',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const openStreams = new Gauge({
    name: 'sallyport_open_streams',
    help: 'Event streams and WebSockets open now',
    labelNames: ['route'],
    registers,
  });
  const tokenCache = new Counter({
    name: 'sallyport_token_cache_total',
    help: 'Look-ups of verified tokens',
    labelNames: ['kind', 'result'],
    registers,
  });
  const serverCalls = new Counter({
    name: 'sallyport_authorization_server_requests_total',
    help: 'Calls to authorization servers',
    labelNames: ['server', 'operation', 'result'],
    registers,
  });
  const reloadSuccessful = new Gauge({
    name: 'sallyport_config_last_reload_successful',
    help: '1 when the newest configuration files are in force',
    registers,
  });
  const configInfo = new Gauge({
    name: 'sallyport_config_info',
    help: 'The configuration in force',
    labelNames: ['hash'],
    registers,
  });

  return {
    registry,
    decision(outcome) {
      const route = outcome.route?.name ?? NO_ROUTE;
      const decision = decisionLabel(outcome);
      decisions.inc({ route, decision, reason: (outcome.denial ?? outcome.shadow)?.reason ?? 'none' });
      decisionDuration.observe({ route }, (outcome.decidedAt - outcome.call.startedAt) / 1000);
      const tool = toolOf(outcome.attempt);
      if (tool !== undefined) toolCalls.inc({ route, tool: toolLabel(outcome.route, tool), decision });
    },
    answered(route, { method }, status) {
      requests.inc({ route: route?.name ?? NO_ROUTE, method: methods.has(method) ? method : 'other', status });
    },
    upstreamAnswered: (route, ms) => upstreamDuration.observe({ route: route.name }, ms / 1000),
    streamOpened: (route) => openStreams.inc({ route: route.name }),
    streamClosed: (route) => openStreams.dec({ route: route.name }),
    tokenCache: (kind, result) => tokenCache.inc({ kind, result }),
    serverCall: (server, operation, result) => serverCalls.inc({ server, operation, result }),
    configLoaded(hash) {
      configInfo.reset();
      configInfo.set({ hash }, 1);
      reloadSuccessful.set(1);
    },
    reloadFailed: () => reloadSuccessful.set(0),
  };
}

function decisionLabel({ allow, shadow }: Outcome): 'allow' | 'deny' | 'shadow_deny' {
  if (!allow) return 'deny';
  return shadow === undefined ? 'allow' : 'shadow_deny';
}

/** A name that a caller made up must not become a time series. */
function toolLabel(route: Route | undefined, tool: string): string {
  return route?.policy?.toolEntry(tool) ?? 'other';
}
