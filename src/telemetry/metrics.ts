import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { ServerOperation } from '../model/authorization-server.ts';
import type { KnownCall, Outcome } from '../model/outcome.ts';
import { calledTool } from '../model/policy.ts';
import type { ForwardObserver, LockObserver } from '../model/observer.ts';
import type { Route } from '../model/route.ts';
import type { StoreObserver } from '../model/shared.ts';
import { createTally, RouteHistogram } from './request-metrics.ts';

/** The metrics of `/metrics`. Label values come from the configuration and from closed sets, never from a caller. */
export interface Metrics extends ForwardObserver, StoreObserver {
  readonly registry: Registry;
  /** All metrics, in Prometheus' text format. */
  readonly page: () => Promise<{ readonly type: string; readonly text: string }>;
  decision(outcome: Outcome): void;
  /** A call was answered with `status`, by the upstream or by the gateway. */
  readonly answered: (route: Route | undefined, call: Pick<KnownCall, 'method'>, status: number) => void;
  readonly tokenCache: (kind: string, result: string) => void;
  readonly serverCall: (server: string, operation: ServerOperation, result: string) => void;
  readonly traceSpans: (result: 'exported' | 'dropped', count: number) => void;
  readonly logLinesLost: (output: 'stdout' | 'file', count: number) => void;
  configLoaded(hash: string): void;
  reloadFailed(): void;
  certificateExpires(at: Date): void;
  readonly lockedDefinitions: LockObserver['differing'];
}

/** From a cached decision (tens of µs) to a slow introspection (seconds). */
const decisionSeconds = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];
const upstreamSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** RFC 9110 §9 and RFC 5789; any other method counts as `other`. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
/** The label of a call that met no route. */
const NO_ROUTE = '';

/**
 * Creates the metrics in a registry of their own. They live as long as the process. `aggregator` sets how prom-client
 * combines the values of several workers; by default it adds them.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const decisions = createTally({
    name: 'sallyport_decisions_total',
    help: 'Authorization decisions',
    labelNames: ['route', 'decision', 'reason'],
    registers,
  });
  const toolCalls = createTally({
    name: 'sallyport_tool_calls_total',
    help: 'Decisions on tools/call, by the tool as the policy names it',
    labelNames: ['route', 'tool', 'decision'],
    registers,
  });
  const decisionDuration = new RouteHistogram({
    name: 'sallyport_decision_duration_seconds',
    help: 'From the arrival of a request to its decision',
    buckets: decisionSeconds,
    registers,
  });
  const upstreamDuration = new RouteHistogram({
    name: 'sallyport_upstream_duration_seconds',
    help: 'From the request to the header section of the upstream',
    buckets: upstreamSeconds,
    registers,
  });
  const requests = createTally({
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
  const tokenCache = createTally({
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
  const storeUp = new Gauge({
    name: 'sallyport_shared_store_up',
    help: '1 while the shared store answers; absent without one',
    aggregator: 'min',
    registers,
  });
  // A gauge without labels begins as 0, which would mean a store that is away.
  storeUp.remove();
  const storeRequests = new Counter({
    name: 'sallyport_shared_store_requests_total',
    help: 'What the shared store was asked for',
    labelNames: ['operation', 'result'],
    registers,
  });
  const traceSpans = new Counter({
    name: 'sallyport_trace_spans_total',
    help: 'Spans that the collector took, and those that were given up',
    labelNames: ['result'],
    registers,
  });
  const logLinesLost = new Counter({
    name: 'sallyport_log_lines_lost_total',
    help: 'Log lines that could not be written, or not fast enough',
    labelNames: ['output'],
    registers,
  });
  // From 0, so that Prometheus sees the first loss as an increase.
  for (const output of ['stdout', 'file']) logLinesLost.inc({ output }, 0);
  const reloadSuccessful = new Gauge({
    name: 'sallyport_config_last_reload_successful',
    help: '1 when the newest configuration files are in force',
    aggregator: 'min',
    registers,
  });
  const configInfo = new Gauge({
    name: 'sallyport_config_info',
    help: 'The configuration in force',
    labelNames: ['hash'],
    aggregator: 'max',
    registers,
  });
  const certificateExpiry = new Gauge({
    name: 'sallyport_tls_certificate_expiry_timestamp_seconds',
    help: 'When the certificate in force expires; absent without TLS',
    aggregator: 'min',
    registers,
  });
  certificateExpiry.remove();
  const lockedDefinitions = new Gauge({
    name: 'sallyport_locked_definitions_changed',
    help: 'Definitions of an MCP server that differ from the lock of the route',
    labelNames: ['route'],
    aggregator: 'max',
    registers,
  });

  return {
    registry,
    page: async () => ({ type: registry.contentType, text: await registry.metrics() }),
    decision(outcome) {
      const route = outcome.route?.name ?? NO_ROUTE;
      const decision = decisionLabel(outcome);
      decisions(route, decision, (outcome.denial ?? outcome.shadow)?.reason ?? 'none');
      decisionDuration.add(route, (outcome.decidedAt - outcome.call.startedAt) / 1000);
      const tool = calledTool(outcome.attempt);
      if (tool !== undefined) toolCalls(route, toolLabel(outcome.route, tool), decision);
    },
    answered(route, { method }, status) {
      requests(route?.name ?? NO_ROUTE, methods.has(method) ? method : 'other', String(status));
    },
    upstreamAnswered: (route, ms) => upstreamDuration.add(route.name, ms / 1000),
    streamOpened: (route) => openStreams.inc({ route: route.name }),
    streamClosed: (route) => openStreams.dec({ route: route.name }),
    tokenCache: (kind, result) => tokenCache(kind, result, ''),
    serverCall: (server, operation, result) => serverCalls.inc({ server, operation, result }),
    storeUp: (up) => (up === undefined ? storeUp.remove() : storeUp.set(Number(up))),
    storeRequest: (operation, result) => storeRequests.inc({ operation, result }),
    traceSpans: (result, count) => traceSpans.inc({ result }, count),
    logLinesLost: (output, count) => logLinesLost.inc({ output }, count),
    configLoaded(hash) {
      configInfo.reset();
      configInfo.set({ hash }, 1);
      reloadSuccessful.set(1);
    },
    reloadFailed: () => reloadSuccessful.set(0),
    lockedDefinitions: (route, count) =>
      count === undefined ? lockedDefinitions.remove({ route }) : lockedDefinitions.set({ route }, count),
    certificateExpires: (at) => certificateExpiry.set(at.getTime() / 1000),
  };
}

function decisionLabel({ allow, shadow }: Outcome): 'allow' | 'deny' | 'shadow_deny' {
  if (!allow) return 'deny';
  return shadow === undefined ? 'allow' : 'shadow_deny';
}

/** The entry of the policy that lists a tool: a name that a caller made up must not become a time series. */
function toolLabel(route: Route | undefined, tool: string): string {
  return route?.policy?.toolEntry(tool) ?? 'other';
}

/** The metrics of all workers as one page, for the primary process. */
export interface WorkerMetrics {
  readonly page: () => Promise<{ readonly type: string; readonly text: string }>;
}

/** Creates the page; each worker must have called {@link reportAsWorker}. */
export function createWorkerMetrics(): WorkerMetrics {
  const registry = new AggregatorRegistry();
  return {
    page: async () => ({ type: registry.contentType, text: await registry.clusterMetrics() }),
  };
}

/** Lets the primary process ask this worker for the values of `registry`. */
export function reportAsWorker(registry: Registry): Registry {
  AggregatorRegistry.setRegistries([registry]);
  // The constructor begins to listen for the question.
  return new AggregatorRegistry();
}
