import cluster, { type Worker } from 'node:cluster';
import { randomBytes } from 'node:crypto';
import type { Admin } from '../admin/admin.ts';
import type { Loaded } from '../config/load.ts';
import type { AdminSource, InForce } from '../../capabilities/admin.ts';
import type { Config } from '../../ports/config.ts';
import { Log } from '../../core/telemetry/log.ts';
import { createWorkerMetrics } from '../../core/telemetry/metrics.ts';
import { fixedIn } from '../reload.ts';
import { copyLines, createLogLines, standardOutput } from '../standard-output.ts';
import { openLines } from '../../capabilities/all.ts';
import { listeningUrl, openAdmin, restartBackOff, type Running, SECRETS_KEPT, type StartOptions } from '../start.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

/**
 * Serves by several processes behind one listener and one admin listener. Connections go to the workers in turn, and a
 * worker that ends is replaced. Only the primary process reads files: all workers have the same configuration and
 * certificate from it. It keeps nothing for them: what they must know together is in `shared`.
 *
 * @throws {WorkerFault} if the first workers cannot listen.
 */
export async function startWorkers(
  file: string,
  loaded: Loaded,
  count: number,
  moreMetrics?: StartOptions['moreMetrics'],
): Promise<Running> {
  const output = standardOutput();
  const linked = await openLines(loaded.config, Date.now, undefined);
  const lines = createLogLines({ output, linked });
  const log = new Log(loaded.config.log, lines);
  const metrics = createWorkerMetrics();
  const fixed = fixedIn(loaded.config);
  const key = randomBytes(32).toString('hex');
  const inForce: InForce = { config: loaded.config, since: Date.now(), problems: [], kept: [] };
  let refused: readonly string[] = [];
  /** The problems of each worker that refuses files which the primary process accepted. */
  const refusedBy = new Map<Worker, readonly string[]>();
  const { tls } = loaded.config;
  const observer = { certificateInForce() {}, certificateRefused: (detail: string) => log.certificateRefused(detail) };
  const certificate = tls && (await (await import('../own-certificate.ts')).openCertificate(tls, observer, Date.now));
  certificate?.onRenewed((certificates) => tellAll({ kind: 'renewed', certificates }));
  let { snapshot } = loaded;
  const backOff = restartBackOff();
  let stopping = false;
  cluster.setupPrimary({ exec: process.argv[1] ?? '', args: ['serve'], silent: true });

  function tell(worker: Worker, message: ToWorker): void {
    if (worker.isConnected()) worker.send(message);
  }
  const source = createWorkersSource(workers, tell);
  function tellAll(message: ToWorker): void {
    for (const worker of workers()) tell(worker, message);
  }

  /** Starts a worker, and resolves with its URL when it listens. */
  async function fork(): Promise<string> {
    const worker = cluster.fork();
    closeOrphanedConnections(worker);
    copyLines(worker.process.stdout, output);
    worker.process.stderr?.pipe(process.stderr, { end: false });
    // A message to a worker that has just ended fails (EPIPE); `exit` reports its end.
    worker.on('error', () => {});
    tell(worker, { kind: 'begin', file, snapshot, fixed, key, certificates: certificate?.current() });
    if (refused.length + inForce.kept.length > 0) tell(worker, { kind: 'reload-refused' });
    for (const other of workers()) if (other !== worker) tell(other, { kind: 'tell-news', newcomer: worker.id });
    source.follow(worker);
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'news') passOn(message, worker);
      if (message.kind === 'reloaded') noteRefusal(worker, message.problems);
    });
    const url = await listeningUrl(worker.process, 'a worker');
    backOff.reset();
    return url;
  }

  function passOn(message: Extract<FromWorker, { kind: 'news' }>, from: Worker): void {
    const { newcomer } = message;
    for (const other of workers())
      if (newcomer === undefined ? other !== from : other.id === newcomer) tell(other, message);
  }

  function noteProblems(): void {
    inForce.problems = [...refused, ...[...refusedBy.values()].flat()];
  }

  function noteRefusal(worker: Worker, problems: readonly string[]): void {
    const { pid } = worker.process;
    refusedBy.delete(worker);
    if (problems.length > 0) {
      refusedBy.set(
        worker,
        problems.map((problem) => `worker ${pid}: ${problem}`),
      );
      log.event('error', 'a worker refused the configuration; it still runs the previous one', { pid, problems });
    }
    noteProblems();
  }

  function replaceEnded(worker: Worker, code: number | null, signal: string | null): void {
    refusedBy.delete(worker);
    noteProblems();
    if (stopping) return;
    log.event('error', 'a worker ended and is replaced', { pid: worker.process.pid, code, signal });
    setTimeout(() => {
      if (!stopping)
        fork().catch(({ message }: Error) => log.event('error', 'a worker cannot serve', { why: message }));
    }, backOff.next());
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true;
    certificate?.close();
    const left = workers();
    const ended = left.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
    for (const worker of left) {
      if (worker.isConnected()) tell(worker, { kind: 'stop', graceMs });
      else worker.process.kill('SIGKILL');
    }
    await Promise.all(ended);
  }

  let url: string | undefined;
  let admin: Admin | undefined;
  try {
    [url] = await Promise.all(Array.from({ length: count }, fork));
    cluster.on('exit', replaceEnded);
    const view = { metrics: metrics.page, inForce, workers: () => workers().length, source };
    admin = await openAdmin({
      log,
      clock: Date.now,
      moreMetrics: [moreMetrics],
      documents: linked?.documents ?? {},
      ...view,
    });
  } catch (error) {
    await stop(0);
    throw error;
  }
  log.event('info', 'listening', { url, admin: admin?.url, config: inForce.config.hash, workers: count });

  return {
    url: url ?? '',
    adminUrl: admin?.url,
    listeners: [],
    log,
    reopenLog: () => tellAll({ kind: 'reopen-log' }),
    kept: undefined,
    // The store tells the workers.
    endTokens() {},
    reload(next: Config, nextSnapshot) {
      snapshot = nextSnapshot;
      tellAll({ kind: 'reload', file, snapshot });
      log.configure(next.log);
      admin?.reload(next.admin);
      Object.assign(inForce, { config: next, since: Date.now(), kept: [] });
      refused = [];
      noteProblems();
    },
    reloadRefused(problems) {
      refused = problems;
      noteProblems();
      tellAll({ kind: 'reload-refused' });
      log.event('error', 'configuration refused; still running the previous configuration', { problems });
    },
    secretsKept(problems) {
      inForce.kept = problems;
      tellAll({ kind: 'reload-refused' });
      log.event('warn', SECRETS_KEPT, { problems });
    },
    async close(graceMs) {
      await stop(graceMs);
      await admin?.close();
      linked?.close();
      await lines.close();
    },
  };
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

interface Handle {
  close(): void;
}

/**
 * Closes the connection that was on its way to a worker when the worker died. Node leaves it open, and its client would
 * wait forever: lib/internal/cluster/round_robin_handle.js closes it only when the worker confirms it. A confirmed one
 * is closed in this process already, and closing it again does nothing.
 *
 * This is the only file that rests on the internals of `node:cluster`; its test fails if Node changes them.
 */
export function closeOrphanedConnections(worker: Worker): void {
  const { process: child } = worker;
  /** The last connection of each listener: Node sends one at a time. */
  const last = new Map<unknown, Handle>();
  const send = child.send.bind(child) as (...all: readonly unknown[]) => boolean;
  child.send = (message: unknown, handle?: unknown, ...rest: readonly unknown[]): boolean => {
    if (isHandle(handle)) last.set(Reflect.get(Object(message), 'key'), handle);
    return send(message, handle, ...rest);
  };
  worker.once('exit', () => {
    for (const handle of last.values()) handle.close();
  });
}

function isHandle(value: unknown): value is Handle {
  return typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function';
}

const PATIENCE_MS = 1_000;

interface WorkersSource extends AdminSource {
  /** Begins to read what a new worker sends, and tells it which feeds are watched. */
  follow(worker: Worker): void;
}

/** Creates the source of the workers that run now. A worker that does not answer in time is left out. */
export function createWorkersSource(
  workers: () => readonly Worker[],
  tell: (worker: Worker, message: ToWorker) => void,
): WorkersSource {
  /** Those that watch, by the name of a feed. */
  const watchers = new Map<string, Set<(piece: never) => void>>();
  /** The questions that wait for their answer, by their numbers. */
  const waiting = new Map<number, (answer: unknown) => void>();
  let lastNumber = 0;

  function tellWhetherWatched(feed: string): void {
    for (const worker of workers()) tell(worker, { kind: 'watch', feed, isWatched: watchers.has(feed) });
  }

  /** Resolves with undefined if no answer comes in time. */
  async function answerOf(
    worker: Worker,
    asked: { readonly question: string; readonly argument: unknown },
    patienceMs = PATIENCE_MS,
  ): Promise<unknown> {
    const number = (lastNumber += 1);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const timer = setTimeout(resolve, patienceMs, undefined);
    waiting.set(number, resolve);
    tell(worker, { kind: 'ask', number, ...asked });
    const answer = await promise;
    clearTimeout(timer);
    waiting.delete(number);
    return answer;
  }

  return {
    follow(worker) {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'answer') waiting.get(message.number)?.(message.answer);
        if (message.kind === 'fed')
          for (const onPiece of watchers.get(message.feed) ?? []) onPiece(message.piece as never);
      });
      for (const feed of watchers.keys()) tell(worker, { kind: 'watch', feed, isWatched: true });
    },
    watch({ name }, onPiece) {
      const all = watchers.get(name) ?? new Set();
      watchers.set(name, all.add(onPiece));
      tellWhetherWatched(name);
      return () => {
        if (!all.delete(onPiece)) return;
        if (all.size === 0) watchers.delete(name);
        tellWhetherWatched(name);
      };
    },
    async ask({ name: question, oneWithinMs, join }, argument) {
      const asked = oneWithinMs === undefined ? workers() : workers().slice(0, 1);
      const answers = await Promise.all(asked.map((worker) => answerOf(worker, { question, argument }, oneWithinMs)));
      return join(answers.filter((answer) => answer !== undefined) as never[]);
    },
  };
}
