/**
 * @module The metrics of `/metrics`, as tables: name → kind, help, labels, and the events that move it. Label values
 * come from the configuration and from closed sets, never from a caller.
 */

import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Events } from '../model/events.ts';
import type { Outcome } from '../model/outcome.ts';
import { calledTool } from '../model/policy.ts';
import type { Endpoint } from '../model/endpoint.ts';
import { joinEvents } from './events.ts';
import { Durations, Tally } from './request-metrics.ts';

type Moves<Metric> = {
  readonly [Name in keyof Events]?: (metric: Metric, ...event: Parameters<Events[Name]>) => void;
};

interface AnyRow {
  readonly help: string;
  readonly labels: readonly string[];
}

interface CounterRow extends AnyRow {
  readonly kind: 'counter';
  /** Label values that count from 0, so that Prometheus sees the first event as an increase. */
  readonly from?: readonly string[];
}

interface GaugeRow extends AnyRow {
  readonly kind: 'gauge';
  /** How the values of several workers combine. */
  readonly aggregator: 'sum' | 'min' | 'max';
  /** Absent before the first event, where 0 would mean something. */
  readonly isAbsent?: true;
  /** Its value is asked for at each scrape. */
  readonly isMeasured?: true;
}

interface HistogramRow extends AnyRow {
  readonly kind: 'histogram';
  readonly buckets: readonly number[];
}

/** Metrics of a capability by their names. It moves them by {@link Meters}. */
export type MetricRows = Readonly<Record<string, CounterRow | GaugeRow>>;

/** The values of the labels of a counter, in the order of its row. */
type CounterLabels = readonly [first: string, second?: string, third?: string];

/** Moves metrics of capabilities. Labels are values in the order of the row. */
export interface Meters {
  add(counter: string, count: number, ...labels: CounterLabels): void;
  /** @param value Undefined: the gauge is absent for these labels. */
  set(gauge: string, value: number | undefined, ...labels: readonly string[]): void;
}

type Row =
  | (CounterRow & { readonly on?: Moves<Tally> })
  | (GaugeRow & { readonly on?: Moves<Gauge> })
  | (HistogramRow & { readonly on: Moves<Durations> });

/** From a cached decision (tens of µs) to a slow introspection (seconds). */
const decisionSeconds = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];
const upstreamSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const gatewayMetrics = {
  sallyport_decisions_total: {
    kind: 'counter',
    help: 'Authorization decisions',
    labels: ['route', 'decision', 'reason'],
    on: {
      decided(counter, outcome) {
        const reason = (outcome.denial ?? outcome.shadow)?.reason ?? 'none';
        counter.add(1, routeLabel(outcome.route), decisionLabel(outcome), reason);
      },
    },
  },
  sallyport_tool_calls_total: {
    kind: 'counter',
    help: 'Decisions on tools/call, by the tool as the policy names it',
    labels: ['route', 'tool', 'decision'],
    on: {
      decided(counter, outcome) {
        const tool = calledTool(outcome.attempt);
        if (tool === undefined) return;
        counter.add(1, routeLabel(outcome.route), toolLabel(outcome.route, tool), decisionLabel(outcome));
      },
    },
  },
  sallyport_decision_duration_seconds: {
    kind: 'histogram',
    help: 'From the arrival of a request to its decision',
    labels: ['route'],
    buckets: decisionSeconds,
    on: {
      decided: (durations, { route, decidedAt, call }) =>
        durations.add(routeLabel(route), (decidedAt - call.startedAt) / 1000),
    },
  },
  sallyport_upstream_duration_seconds: {
    kind: 'histogram',
    help: 'From the request to the header section of the upstream',
    labels: ['route'],
    buckets: upstreamSeconds,
    on: { upstreamAnswered: (durations, route, ms) => durations.add(route.name, ms / 1000) },
  },
  sallyport_requests_total: {
    kind: 'counter',
    help: 'Requests answered',
    labels: ['route', 'method', 'status'],
    on: {
      answered: (counter, route, { method }, status) =>
        counter.add(1, routeLabel(route), methods.has(method) ? method : 'other', String(status)),
    },
  },
  sallyport_open_streams: {
    kind: 'gauge',
    help: 'Event streams and WebSockets open now',
    labels: ['route'],
    aggregator: 'sum',
    on: {
      streamOpened: (gauge, route) => gauge.inc({ route: route.name }),
      streamClosed: (gauge, route) => gauge.dec({ route: route.name }),
    },
  },
  sallyport_token_cache_total: {
    kind: 'counter',
    help: 'Look-ups of verified tokens',
    labels: ['kind', 'result'],
    on: { tokenLookup: (counter, kind, result) => counter.add(1, kind, result) },
  },
  sallyport_authorization_server_requests_total: {
    kind: 'counter',
    help: 'Calls to authorization servers',
    labels: ['server', 'operation', 'result'],
    on: { serverCall: (counter, server, operation, result) => counter.add(1, server, operation, result) },
  },
  sallyport_shared_store_up: {
    kind: 'gauge',
    help: '1 while the shared store answers; absent without one',
    labels: [],
    aggregator: 'min',
    isAbsent: true,
    on: { storeUp: (gauge, up) => (up === undefined ? gauge.remove() : gauge.set(Number(up))) },
  },
  sallyport_shared_store_requests_total: {
    kind: 'counter',
    help: 'What the shared store was asked for',
    labels: ['operation', 'result'],
    on: { storeRequest: (counter, operation, result) => counter.add(1, operation, result) },
  },
  sallyport_log_lines_lost_total: {
    kind: 'counter',
    help: 'Log lines that could not be written, or not fast enough',
    labels: ['output'],
    from: ['stdout', 'file'],
    on: { linesLost: (counter, output, count) => counter.add(count, output) },
  },
  sallyport_config_last_reload_successful: {
    kind: 'gauge',
    help: '1 when the newest configuration files are in force',
    labels: [],
    aggregator: 'min',
    on: { configLoaded: (gauge) => gauge.set(1), reloadFailed: (gauge) => gauge.set(0) },
  },
  sallyport_config_info: {
    kind: 'gauge',
    help: 'The configuration in force',
    labels: ['hash'],
    aggregator: 'max',
    on: {
      configLoaded(gauge, hash) {
        gauge.reset();
        gauge.set({ hash }, 1);
      },
    },
  },
  sallyport_tls_certificate_expiry_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the certificate in force expires; absent without TLS',
    labels: [],
    aggregator: 'min',
    isAbsent: true,
    on: { certificateInForce: (gauge, expiresAt) => gauge.set(expiresAt.getTime() / 1000) },
  },
} as const satisfies Readonly<Record<string, Row>>;

/** RFC 9110 §9 and RFC 5789; any other method counts as `other`. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** `''` for a call that met no route. */
function routeLabel(route: Endpoint | undefined): string {
  return route?.name ?? '';
}

function decisionLabel({ allow, shadow }: Outcome): 'allow' | 'deny' | 'shadow_deny' {
  if (!allow) return 'deny';
  return shadow === undefined ? 'allow' : 'shadow_deny';
}

/** The entry of the policy that lists a tool: a name that a caller made up must not become a time series. */
function toolLabel(route: Endpoint | undefined, tool: string): string {
  return route?.policy?.toolEntry(tool) ?? 'other';
}

interface MetricsPage {
  readonly type: string;
  readonly text: string;
}

/** The metrics of a table, in a registry of their own. They live as long as the process. */
export interface Metrics {
  readonly registry: Registry;
  /** Moves them. */
  readonly events: Events;
  readonly meters: Meters;
  readonly page: () => Promise<MetricsPage>;
}

/**
 * Creates the metrics of a gateway, with those of Node.
 *
 * @param ofCapabilities They follow those of the core.
 */
export function createMetrics(ofCapabilities: MetricRows): Metrics {
  const metrics = metricsOf({ ...gatewayMetrics, ...ofCapabilities });
  collectDefaultMetrics({ register: metrics.registry });
  return metrics;
}

/**
 * Creates metrics with a page of their own, which is shown where the capability or the front door is on.
 *
 * @param measure Called at each scrape: moves what has to be asked for.
 */
export function createOwnMetrics(rows: MetricRows, measure?: (meters: Meters) => void): Omit<Metrics, 'events'> {
  return metricsOf(rows, measure);
}

function metricsOf(rows: Readonly<Record<string, Row>>, measure: (meters: Meters) => void = () => {}): Metrics {
  const registry = new Registry();
  const measured = (): void => measure(metrics);
  const metrics = new MetricTable(registry, measured);
  const events = joinEvents(...Object.entries(rows).map(([name, row]) => metrics.movesOf(name, row)));
  return {
    registry,
    events,
    meters: metrics,
    page: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  };
}

/** The metrics of a table by their names. */
class MetricTable implements Meters {
  readonly #registry: Registry;
  readonly #measured: () => void;
  readonly #counters = new Map<string, Tally>();
  readonly #gauges = new Map<string, Gauge>();

  constructor(registry: Registry, measured: () => void) {
    this.#registry = registry;
    this.#measured = measured;
  }

  /** Registers one metric. @returns the events that move it. */
  movesOf(name: string, row: Row): Partial<Events> {
    const { help, kind } = row;
    const configuration = { name, help, labelNames: [...row.labels], registers: [this.#registry] };
    switch (kind) {
      case 'counter': {
        const counter = new Tally(configuration);
        for (const value of row.from ?? []) counter.add(0, value);
        this.#counters.set(name, counter);
        return moving(counter, row.on);
      }
      case 'gauge': {
        const { aggregator, isMeasured } = row;
        const gauge = new Gauge({ ...configuration, aggregator, ...(isMeasured && { collect: this.#measured }) });
        if (row.isAbsent === true) gauge.remove();
        this.#gauges.set(name, gauge);
        return moving(gauge, row.on);
      }
      case 'histogram':
        return moving(new Durations({ ...configuration, buckets: [...row.buckets] }), row.on);
      default:
        return kind satisfies never;
    }
  }

  add(name: string, count: number, ...labels: CounterLabels): void {
    known(this.#counters, name).add(count, ...labels);
  }

  set(name: string, value: number | undefined, ...labels: readonly string[]): void {
    const gauge = known(this.#gauges, name);
    if (value === undefined) gauge.remove(...labels);
    else gauge.labels(...labels).set(value);
  }
}

function known<Metric>(metrics: ReadonlyMap<string, Metric>, name: string): Metric {
  const metric = metrics.get(name);
  if (metric === undefined) throw new TypeError(`${name} is no metric of its kind`);
  return metric;
}

function moving<Metric>(metric: Metric, moves: Moves<Metric> = {}): Partial<Events> {
  const entries = Object.entries(moves) as [string, (metric: Metric, ...event: unknown[]) => void][];
  return Object.fromEntries(entries.map(([event, move]) => [event, move.bind(undefined, metric)]));
}

/** Creates the page of the metrics of all workers; each must have called {@link reportAsWorker}. */
export function createWorkerMetrics(): Pick<Metrics, 'page'> {
  const registry = new AggregatorRegistry();
  return {
    page: async () => ({ type: registry.contentType, text: await registry.clusterMetrics() }),
  };
}

/** Lets the primary process ask this worker for the values of `registries`. */
export function reportAsWorker(registries: readonly Registry[]): Registry {
  AggregatorRegistry.setRegistries([...registries]);
  // The constructor begins to listen for the question.
  return new AggregatorRegistry();
}
