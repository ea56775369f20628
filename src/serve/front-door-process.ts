import { type ChildProcess, fork } from 'node:child_process';
import type { Loaded } from './config/load.ts';
import type { Log } from '../core/telemetry/log.ts';
import type { Metrics } from '../core/telemetry/metrics.ts';
import type { KeptRevocations } from '../capabilities/capability.ts';
import { listeningUrl, restartBackOff, type Running, type StartMessage } from './start.ts';
import type { Snapshot } from './config/snapshot.ts';
import type { LogStore } from '../ports/store.ts';
import { createObserver, type FrontDoorObserver } from '../front-door/observer.ts';

/** The front door as a process of its own: no login page holds up a decision, and a fault of one ends not the other. */
export interface FrontDoorProcess {
  readonly metrics: Metrics['page'];
  /** Connects it to the gateway, which logs for it and ends its revoked tokens. Returns both as one. */
  attach(gateway: Running): Running;
  close(): Promise<void>;
}

/** How long it may take to finish its requests. */
const GRACE_MS = 3_000;

/**
 * Starts the front door, watches it, and starts it again when it ends.
 *
 * @throws {WorkerFault} if the first one cannot listen.
 */
export async function startFrontDoorProcess(
  file: string,
  { config, snapshot: first }: Loaded,
): Promise<FrontDoorProcess> {
  let snapshot = first;
  let stopping = false;
  let child: ChildProcess | undefined;
  let log: Pick<Log, 'event'> = { event() {} };
  let kept: KeptRevocations | undefined;
  let endTokens = (_digests: readonly string[]): void => {};
  const { observer, page } = createObserver({ event: (...event) => log.event(...event) });
  const backOff = restartBackOff();

  function tell(message: ToFrontDoor): void {
    // A message to a process that has just ended fails (EPIPE); `exit` reports its end.
    if (child?.connected === true) child.send(message, () => {});
  }

  function tellRevocations(): void {
    for (const news of kept?.everything() ?? []) tell({ kind: 'revocations', news });
  }

  function receive(message: FromFrontDoor): void {
    if (message.kind === 'observed')
      (observer[message.name] as (...about: readonly unknown[]) => void)(...message.about);
    if (message.kind === 'revoked') endTokens(message.digests);
    if (message.kind === 'event') log.event(...message.event);
    if (message.kind === 'bug') log.event('error', 'a bug in the front door', { stack: message.stack });
  }

  /** Starts it, and resolves with its URL when it listens. */
  async function run(): Promise<string> {
    const started = fork(process.argv[1] ?? '', ['front-door'], { env: { ...process.env, [CHILD_VARIABLE]: '1' } });
    child = started;
    started.on('error', () => {});
    tell({ kind: 'begin', file, snapshot });
    tellRevocations();
    started.on('message', receive).once('exit', restart);
    const url = await listeningUrl(started, 'the front door');
    backOff.reset();
    return url;
  }

  let hasListened = false;
  function restart(code: number | null, signal: string | null): void {
    if (stopping || !hasListened) return;
    log.event('error', 'the front door ended and is started again', { code, signal });
    setTimeout(() => {
      if (stopping) return;
      run().then(
        (again) => log.event('info', 'front door listening', { url: again }),
        (error: Error) => log.event('error', 'the front door cannot serve', { why: error.message }),
      );
    }, backOff.next());
  }

  const url = await run();
  hasListened = true;
  return {
    metrics: page,
    attach(gateway) {
      ({ log } = gateway);
      endTokens = (digests) => gateway.endTokens(digests);
      // The store tells it, where there is one.
      kept = config.shared === undefined ? gateway.kept : undefined;
      kept?.follow((news) => tell({ kind: 'revocations', news }));
      tellRevocations();
      log.event('info', 'front door listening', { url, issuer: config.frontDoor?.issuer });
      if (config.shared === undefined) {
        log.event('warn', 'the front door keeps its state in memory: a restart signs all people out; configure shared');
      }
      return {
        ...gateway,
        async reload(next, nextSnapshot) {
          await gateway.reload(next, nextSnapshot);
          snapshot = nextSnapshot;
          tell({ kind: 'reload', file, snapshot });
        },
        async close(graceMs) {
          await Promise.all([gateway.close(graceMs), close()]);
        },
      };
    },
    close,
  };

  async function close(): Promise<void> {
    stopping = true;
    const ending = child;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = new Promise((resolve) => ending.once('exit', resolve));
    tell({ kind: 'stop' });
    const late = setTimeout(() => ending.kill('SIGKILL'), GRACE_MS);
    await ended;
    clearTimeout(late);
  }
}

/** A message to the process of the front door. */
export type ToFrontDoor =
  /** What the capability of revocation tells. */
  | { readonly kind: 'revocations'; readonly news: unknown }
  | { readonly kind: 'begin'; readonly file: string; readonly snapshot: Snapshot }
  | { readonly kind: 'reload'; readonly file: string; readonly snapshot: Snapshot }
  | { readonly kind: 'stop' };

/** A message of the process of the front door. */
export type FromFrontDoor =
  | StartMessage
  | { readonly kind: 'observed'; readonly name: keyof FrontDoorObserver; readonly about: readonly unknown[] }
  /** Access tokens that ended before they expired, by their SHA-256 (base64url). */
  | { readonly kind: 'revoked'; readonly digests: readonly string[] }
  | { readonly kind: 'event'; readonly event: Parameters<LogStore> }
  | { readonly kind: 'bug'; readonly stack: string };

/** Set in the process that `serve` starts: it takes its configuration from messages. */
export const CHILD_VARIABLE = 'SALLYPORT_FRONT_DOOR_CHILD';
