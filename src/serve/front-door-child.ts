import type { Snapshot } from './config/snapshot.ts';
import { loadSnapshot } from './config/load.ts';
import { KeysFault } from '../front-door/keys.ts';
import { type RunningFrontDoor, startFrontDoor } from '../front-door/front-door.ts';
import type { FrontDoorObserver } from '../front-door/observer.ts';
import type { FromFrontDoor, ToFrontDoor } from './front-door-process.ts';
import { leadRequests, openStore, revocations } from '../capabilities/all.ts';
import type { ToldRevocations } from '../capabilities/capability.ts';
import { listenFault, obeyParent } from './start.ts';
import { stackOf } from '../core/lib/wording.ts';

type LogEvent = Extract<FromFrontDoor, { kind: 'event' }>['event'];

interface Running extends RunningFrontDoor {
  /** Undefined without `revocation`. */
  readonly told: ToldRevocations | undefined;
}

/** Runs the front door that `serve` started. It obeys the process of the gateway, and ends with it. */
export async function workAsFrontDoor(): Promise<never> {
  let running: Running | undefined;
  /** What the gateway tells of revocations waits until the configuration is read, and for nothing else. */
  const told = Promise.withResolvers<ToldRevocations | undefined>();
  process.on('message', (message: ToFrontDoor) => {
    if (message.kind === 'revocations') void told.promise.then((known) => known?.take(message.news));
  });
  process.once('disconnect', () => process.exit(0));
  return obeyParent(async (message: ToFrontDoor) => {
    if (message.kind === 'begin') running = await begin(message.file, message.snapshot, told.resolve);
    if (message.kind === 'reload') await reload(running, message.file, message.snapshot);
    if (message.kind === 'stop') {
      await running?.close();
      process.exit(0);
    }
  });
}

async function begin(
  file: string,
  snapshot: Snapshot,
  onKnown: (told: ToldRevocations | undefined) => void,
): Promise<Running> {
  try {
    const config = await loadSnapshot(file, snapshot);
    await leadRequests(config);
    const log = (...event: LogEvent): void => tell({ kind: 'event', event });
    const told = revocations?.settingsOf(config) && (await revocations.follow(config, { log, openStore }));
    onKnown(told);
    const running = await startFrontDoor(config, {
      revocations: told?.check,
      observer: remote,
      onRevoked: (digests) => tell({ kind: 'revoked', digests }),
      log,
      openStore,
      onBug: (error) => tell({ kind: 'bug', stack: stackOf(error) }),
    });
    tell({ kind: 'listening', url: running.url });
    return { ...running, told };
  } catch (error) {
    return endAfter({ kind: 'failed', why: error instanceof KeysFault ? error.message : listenFault(error) });
  }
}

/** Ends the process once the message has left. */
async function endAfter(message: FromFrontDoor): Promise<never> {
  await new Promise<void>((resolve) => process.send?.(message, () => resolve()));
  process.exit(1);
}

async function reload(running: Running | undefined, file: string, snapshot: Snapshot): Promise<void> {
  try {
    const config = await loadSnapshot(file, snapshot);
    await leadRequests(config);
    // Without the section, the newest one stays: the gateway says that a restart is needed.
    if (config.frontDoor !== undefined) running?.reload(config);
    running?.told?.use(config);
  } catch (error) {
    // The gateway, which accepted the same files, starts it again. It must not go on with an earlier configuration.
    await endAfter({ kind: 'bug', stack: stackOf(error) });
  }
}

/** Metrics and the log are those of the gateway's process. */
const remote: FrontDoorObserver = {
  signIn: tellOf('signIn'),
  consent: tellOf('consent'),
  token: tellOf('token'),
  registration: tellOf('registration'),
  grantEnded: tellOf('grantEnded'),
};

function tellOf(name: keyof FrontDoorObserver): (...about: readonly unknown[]) => void {
  return (...about) => tell({ kind: 'observed', name, about });
}

function tell(message: FromFrontDoor): void {
  process.send?.(message);
}
