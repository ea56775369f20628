import type { Snapshot } from '../core/config/files.ts';
import { loadSnapshot } from './config/load.ts';
import { KeysFault } from '../front-door/keys.ts';
import { type RunningFrontDoor, startFrontDoor } from '../front-door/front-door.ts';
import type { FrontDoorObserver } from '../core/model/front-door.ts';
import type { FromFrontDoor, ToFrontDoor } from './front-door-process.ts';
import { RevocationIndex } from '../capabilities/revocation/revocation-index.ts';
import { learn } from '../capabilities/revocation/opened.ts';
import { listenFault, obeyParent } from './start.ts';
import { stackOf } from '../core/lib/wording.ts';

/** Runs the front door that `serve` started. It obeys the process of the gateway, and ends with it. */
export async function workAsFrontDoor(): Promise<never> {
  let running: RunningFrontDoor | undefined;
  // Until the gateway has told of all revocations, no record counts as good.
  const revocations = new RevocationIndex();
  revocations.setReady(false);
  process.on('message', (message: ToFrontDoor) => {
    if (message.kind === 'revoked' || message.kind === 'revocations-ready') learn(revocations, message);
  });
  process.once('disconnect', () => process.exit(0));
  return obeyParent(async (message: ToFrontDoor) => {
    if (message.kind === 'begin') running = await begin(message.file, message.snapshot, revocations);
    if (message.kind === 'reload') await reload(running, message.file, message.snapshot);
    if (message.kind === 'stop') {
      await running?.close();
      process.exit(0);
    }
  });
}

async function begin(file: string, snapshot: Snapshot, revocations: RevocationIndex): Promise<RunningFrontDoor> {
  try {
    const config = await loadSnapshot(file, snapshot);
    const running = await startFrontDoor(config, {
      revocations: config.revocation && revocations,
      observer: remote,
      onRevoked: (digests) => tell({ kind: 'revoked', digests }),
      log: (...event) => tell({ kind: 'event', event }),
      onBug: (error) => tell({ kind: 'bug', stack: stackOf(error) }),
    });
    tell({ kind: 'listening', url: running.url });
    return running;
  } catch (error) {
    return endAfter({ kind: 'failed', why: error instanceof KeysFault ? error.message : listenFault(error) });
  }
}

/** Ends the process once the message has left. */
async function endAfter(message: FromFrontDoor): Promise<never> {
  await new Promise<void>((resolve) => process.send?.(message, () => resolve()));
  process.exit(1);
}

async function reload(running: RunningFrontDoor | undefined, file: string, snapshot: Snapshot): Promise<void> {
  try {
    const config = await loadSnapshot(file, snapshot);
    // Without the section, the newest one stays: the gateway says that a restart is needed.
    if (config.frontDoor !== undefined) running?.reload(config);
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
