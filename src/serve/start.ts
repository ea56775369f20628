import type { ChildProcess } from 'node:child_process';
import { on } from 'node:events';
import type { Writable } from 'node:stream';
import type { Admin, AdminView } from './admin/admin.ts';
import type { Snapshot } from './config/snapshot.ts';
import { metricRows } from '../capabilities/all.ts';
import { ConfigError } from '../core/config/problems.ts';
import { type BackOff, createBackOff } from '../core/lib/back-off.ts';
import type { InForce } from '../capabilities/admin.ts';
import { type ProcessAnswers, processAnswers, processState, singleSource } from './admin/answers.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Config } from '../ports/config.ts';
import type { Events } from '../core/model/events.ts';
import type { JsonLines } from '../core/telemetry/json-lines.ts';
import { Log } from '../core/telemetry/log.ts';
import { joinEvents } from '../core/telemetry/events.ts';
import { createMetrics, type Metrics } from '../core/telemetry/metrics.ts';
import { type ListeningAt, type OpenCertificate, type Service, startService } from './service.ts';
import type { Surroundings } from './reloadable-gateway.ts';
import { capabilities, openLines, openStore, openTracing, revocations } from '../capabilities/all.ts';
import { createLogLines, lineOutput, type OnLost, standardOutput } from './standard-output.ts';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { StartFault } from '../core/lib/start-fault.ts';
import { messageOf } from '../core/lib/wording.ts';
import type { KeptRevocations, OpenedLines } from '../capabilities/capability.ts';

/** A running gateway, of one process or several, and its admin listener. */
export interface Running {
  readonly url: string;
  /** Undefined with `admin: off`. */
  readonly adminUrl: string | undefined;
  /** The listeners of capabilities; none with several processes. */
  readonly listeners: readonly ListeningAt[];
  readonly log: Log;
  /** Serves by `config` from the next request on. `snapshot`: what it was read from. */
  reload(config: Config, snapshot: Snapshot): void | Promise<void>;
  /**
   * Ends tokens of the front door, by their SHA-256 (base64url), and their open streams. Several processes learn of
   * them from `shared`.
   */
  endTokens(digests: readonly string[]): void;
  /** Undefined without `revocation`, and with several processes. */
  readonly kept: KeptRevocations | undefined;
  /** Opens `log.file` again, after its rotation. */
  reopenLog(): void;
  /** Reports to the log, the metrics and the admin listener that the newest files are not in force. */
  reloadRefused(problems: readonly string[]): void;
  /** Reports to the same places that secrets of the newest files cannot be read, and have their last values. */
  secretsKept(problems: readonly string[]): void;
  /** Drains: accepts no more connections, lets requests finish for `graceMs`, then ends the rest. */
  close(graceMs: number): Promise<void>;
}

/** The dependencies of a process that tests replace. */
export interface StartOptions {
  readonly output?: Writable;
  readonly clock?: Clock;
  /** The key that binds sessions if the configuration has none; default: random. */
  readonly key?: Buffer;
  /** Tells other processes news of a capability. */
  readonly share?: Surroundings['share'];
  /** Opens the certificate of `tls`; default: reads its files, and follows them. */
  readonly openCertificate?: OpenCertificate;
  /** Metrics of other processes, for the admin listener. */
  readonly moreMetrics?: Metrics['page'] | undefined;
}

/** The parts of one serving process. */
export interface Serving {
  readonly service: Service;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: Events;
  /** Opens `log.file` again, after its rotation. */
  readonly reopenLog: () => void;
  /** Undefined without `revocation`. */
  readonly kept: KeptRevocations | undefined;
  /** What the admin listener asks; undefined without one: then nothing is recorded. */
  readonly answers: ProcessAnswers | undefined;
  /** JSON documents for operators, by their paths at the admin listener. */
  readonly documents: AdminView['documents'];
  readonly close: (graceMs: number) => Promise<void>;
}

/**
 * Starts the gateway without an admin listener.
 *
 * @throws the system's error if the address cannot be listened on; then nothing is left running.
 */
export async function startServing(config: Config, options: StartOptions): Promise<Serving> {
  const { clock = Date.now, key, share, openCertificate } = options;
  const metrics = createMetrics(metricRows);
  const observers =
    config.admin === undefined ? [] : await Promise.all(capabilities.flatMap(({ observe }) => observe?.(clock) ?? []));
  const lost = (where: 'stdout' | 'file') => (count: number) => metrics.events.linesLost(where, count);
  const { meters } = metrics;
  const linked = await openLines(config, clock, meters);
  const output = options.output ?? standardOutput(process.stdout.fd, lost('stdout'));
  const lines = createLogLines({ output, linked, takesAll: options.output !== undefined }, lost('stdout'));
  const file =
    config.log.file === undefined ? undefined : await openDecisionFile(config.log.file, lost('file'), linked);
  const log = new Log(config.log, lines, file?.lines);
  const events = joinEvents(metrics.events, ...observers.map((each) => each.events), log);
  const tracing = await openTracing(config, { log, meters });
  log.onDecision = tracing?.decided;
  const closeOutputs = async (): Promise<void> => {
    await tracing?.close();
    linked?.close();
    await Promise.all([lines.close(), file?.close()]);
  };
  let service: Service;
  let kept: KeptRevocations | undefined;
  try {
    // Before the first request: a token that was revoked before a restart must not be accepted after it.
    kept = await revocations?.open({ config, log, clock, openStore });
    const surroundings = { log, events, meters, clock, key, tracing, share, revocation: kept };
    service = await startService(config, surroundings, openCertificate);
  } catch (error) {
    await kept?.close();
    await closeOutputs();
    throw error;
  }
  return {
    service,
    kept,
    log,
    metrics,
    events,
    documents: linked?.documents ?? {},
    reopenLog: () => file?.reopen(log),
    answers:
      config.admin &&
      processAnswers(
        [
          processState.by(() => ({
            servers: service.servers(),
            store: service.sharedStore(),
            ...service.capabilities.state(),
            revocation: kept?.state(),
            ...(Object.assign({}, ...observers.map((each) => each.state())) as object),
          })),
          ...service.capabilities.answers(),
          ...(revocations?.answers(kept) ?? []),
          ...observers.flatMap(({ answers }) => answers),
        ],
        observers.flatMap(({ feeds }) => feeds),
      ),
    async close(graceMs) {
      await service.close(graceMs);
      await kept?.close();
      await closeOutputs();
    },
  };
}

/** A page of metrics, followed by the text of `more`. */
function withMore(page: Metrics['page'], more: StartOptions['moreMetrics']): Metrics['page'] {
  if (more === undefined) return page;
  return async () => {
    const [{ type, text }, rest] = await Promise.all([page(), more()]);
    return { type, text: text + rest.text };
  };
}

interface AdminParts extends Pick<AdminView, 'inForce' | 'source' | 'workers' | 'metrics' | 'documents'> {
  readonly moreMetrics: readonly StartOptions['moreMetrics'][];
  readonly log: Log;
  readonly clock: Clock;
}

/** Starts the admin listener, if one is configured. */
export async function openAdmin({ log, clock, moreMetrics, ...view }: AdminParts): Promise<Admin | undefined> {
  const { admin } = view.inForce.config;
  if (admin === undefined) return undefined;
  const metrics = moreMetrics.reduce(withMore, view.metrics);
  // Wrong tokens are logged; the rate limit bounds their number for each address.
  const onWrongToken = (address: string): void => log.event('warn', 'a wrong admin token was presented', { address });
  const { startAdmin } = await import('./admin/admin.ts');
  return startAdmin(admin, { ...view, metrics }, { clock, onWrongToken });
}

/** The line of the log about secrets that cannot be read. */
export const SECRETS_KEPT = 'secrets cannot be read; their last values are still in force';

/** Starts the gateway and its admin listener. Throws as {@link startServing}. */
export async function start(config: Config, options: StartOptions = {}): Promise<Running> {
  const serving = await startServing(config, options);
  const { service, kept, log, metrics, events, answers, documents, reopenLog, close } = serving;
  const { clock = Date.now } = options;
  const inForce: InForce = { config, since: clock(), problems: [], kept: [] };
  let admin: Admin | undefined;
  try {
    const moreMetrics = [kept?.metrics.page, options.moreMetrics];
    const source = answers && singleSource(answers);
    admin = source && (await openAdmin({ log, clock, moreMetrics, metrics: metrics.page, inForce, source, documents }));
  } catch (error) {
    await close(0);
    throw error;
  }
  const { url, listeners } = service;
  const others = Object.fromEntries(listeners.map((each) => [each.name, each.url]));
  log.event('info', 'listening', { url, admin: admin?.url, ...others, config: config.hash });
  return {
    url,
    listeners,
    adminUrl: admin?.url,
    log,
    reopenLog,
    endTokens: service.endTokens,
    kept,
    async reload(next) {
      await service.reload(next);
      kept?.use(next);
      admin?.reload(next.admin);
      Object.assign(inForce, { config: next, since: clock(), problems: [], kept: [] } satisfies InForce);
    },
    reloadRefused(problems) {
      inForce.problems = problems;
      events.reloadFailed();
      log.event('error', 'configuration refused; still running the previous configuration', { problems });
    },
    secretsKept(problems) {
      inForce.kept = problems;
      events.reloadFailed();
      log.event('warn', SECRETS_KEPT, { problems });
    },
    async close(graceMs) {
      await admin?.close();
      await close(graceMs);
    },
  };
}

/** Why a worker cannot serve, in one line. */
class WorkerFault extends StartFault {
  override readonly name = 'WorkerFault';
}

/** The first message of a child process that serves. */
export type StartMessage =
  | { readonly kind: 'listening'; readonly url: string }
  /** It cannot serve; `why` is one line for the operator. */
  | { readonly kind: 'failed'; readonly why: string };

/** The back-off before a child process that ended is started again. It doubles each time, until one listens. */
export function restartBackOff(): BackOff {
  return createBackOff(100, 5_000);
}

/** The URL of a child process when it listens. Rejects with a {@link WorkerFault} if it cannot, or ends before. */
export function listeningUrl(child: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: StartMessage) => {
      if (message.kind === 'listening') resolve(message.url);
      if (message.kind === 'failed') reject(new WorkerFault(message.why));
    });
    child.once('exit', (code, signal) =>
      reject(new WorkerFault(`${name} ended before it listened (${code ?? signal})`)),
    );
  });
}

/** Obeys the process that started this one, a message at a time: one that comes during a reload waits. */
export async function obeyParent(obey: (message: never) => Promise<void>): Promise<never> {
  // A terminal sends signals to every process; the parent stops its children itself.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  for await (const [message] of on(process, 'message') as AsyncIterable<[never]>) await obey(message);
  throw new TypeError('messages end with the process');
}

/** Why the gateway cannot listen, in one line. Rethrows any other error, which is a bug. */
export function listenFault(error: unknown): string {
  if (faults.some((fault) => error instanceof fault)) return (error as Error).message;
  if (!(error instanceof Error) || !('code' in error)) throw error;
  if ('hostname' in error) return `${String(error.hostname)} cannot be resolved to an address (${String(error.code)})`;
  if (!('port' in error)) throw error;
  const host = 'address' in error ? String(error.address) : '';
  const place = `${host.includes(':') ? `[${host}]` : host}:${String(error.port)}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `${place} is in use: stop the process that listens there, or change listen, admin or front_door.listen`;
    case 'EACCES':
      return `${place} needs a privilege: choose a port from 1024 up, or run with CAP_NET_BIND_SERVICE`;
    case 'EADDRNOTAVAIL':
      return `${place} is not an address of this machine`;
    default:
      throw error;
  }
}

interface DecisionFile {
  readonly lines: JsonLines;
  /** Opens the path again, after the file was renamed. The open file stays in use if that fails; `log` says why. */
  reopen(log: Log): void;
  close(): Promise<void>;
}

class DecisionFileFault extends StartFault {
  override readonly name = 'DecisionFileFault';
}

/** Errors whose message is for the operator. */
const faults = [ConfigError, StartFault] as const;

/**
 * Appending lets several processes write to one file: the system adds each write to the end as a whole. A pipe without
 * a reader is an error at once, instead of a thread that waits.
 */
const FLAGS = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NONBLOCK;
/** Decisions name people: by default only the user of the gateway may read them. */
const MODE = 0o600;

async function openDecisionFile(path: string, onLost: OnLost, linked: OpenedLines | undefined): Promise<DecisionFile> {
  let file: FileHandle;
  try {
    file = await open(path, FLAGS, MODE);
  } catch (error) {
    throw new DecisionFileFault(`log.file: ${(error as Error).message}`);
  }
  const output = lineOutput(() => file.fd, onLost);
  const lines = createLogLines({ output, linked, name: 'file' }, onLost);

  async function reopen(log: Log): Promise<void> {
    try {
      const before = file;
      file = await open(path, FLAGS, MODE);
      // A write under way may still use it; this callback runs after that write.
      output.write('', () => void before.close());
    } catch (error) {
      const why = messageOf(error);
      log.event('error', 'the decision log file cannot be opened again; the gateway uses the open one', { why });
    }
  }

  return {
    lines,
    reopen: (log) => void reopen(log),
    async close() {
      await lines.close();
      await file.close();
    },
  };
}
