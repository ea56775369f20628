import { loadSnapshot } from '../config/load.ts';
import { problemsOf } from '../../core/config/problems.ts';
import type { ReceivedCertificate } from '../own-certificate.ts';
import { reportAsWorker } from '../../core/telemetry/metrics.ts';
import { asAtStart, type Fixed } from '../reload.ts';
import { listenFault, obeyParent, type Serving, startServing } from '../start.ts';
import { tellPrimary, type ToWorker } from './worker-messages.ts';

interface Working extends Serving {
  /** The settings that need a restart. */
  readonly fixed: Fixed;
  readonly certificate: ReceivedCertificate | undefined;
  /** What ends the sending of each feed that is watched. */
  readonly watched: Map<string, () => void>;
}

/** Runs one of several serving processes. It obeys the primary process, and ends with it. */
export async function work(): Promise<never> {
  let serving: Working | undefined;
  // Without the primary process, workers must not go on.
  process.once('disconnect', () => void end(serving, 0));
  return obeyParent(async (message: ToWorker) => {
    // prom-client uses the same channel to ask for metrics.
    if (!('kind' in message)) return;
    if (message.kind === 'begin') serving = await begin(message);
    else if (serving !== undefined) await obey(serving, message);
  });
}

async function begin({
  file,
  snapshot,
  fixed,
  key,
  certificates,
}: Extract<ToWorker, { kind: 'begin' }>): Promise<Working> {
  let certificate: ReceivedCertificate | undefined;
  try {
    const serving = await startServing(asAtStart(await loadSnapshot(file, snapshot), fixed), {
      key: Buffer.from(key, 'hex'),
      share: (capability, news) => tellPrimary({ kind: 'news', capability, news }),
      ...(certificates !== undefined && {
        async openCertificate({ clientCa }, observer) {
          const { receivedCertificate } = await import('../own-certificate.ts');
          return (certificate = receivedCertificate(clientCa, certificates, observer));
        },
      }),
    });
    const { metrics, kept } = serving;
    reportAsWorker([metrics.registry, ...(kept === undefined ? [] : [kept.metrics.registry])]);
    tellPrimary({ kind: 'listening', url: serving.service.url });
    return { ...serving, fixed, certificate, watched: new Map() };
  } catch (error) {
    tellPrimary({ kind: 'failed', why: listenFault(error) });
    process.exit(1);
  }
}

async function obey(serving: Working, message: Exclude<ToWorker, { kind: 'begin' }>): Promise<void> {
  const { events } = serving;
  switch (message.kind) {
    case 'reload':
      tellPrimary({ kind: 'reloaded', problems: await reload(serving, message) });
      break;
    case 'reload-refused':
      events.reloadFailed();
      break;
    case 'reopen-log':
      serving.reopenLog();
      break;
    case 'renewed':
      serving.certificate?.renew(message.certificates);
      break;
    case 'ask':
      tellPrimary({
        kind: 'answer',
        number: message.number,
        answer: await serving.answers?.answer(message.question, message.argument),
      });
      break;
    case 'watch':
      watch(serving, message);
      break;
    case 'news':
      serving.service.capabilities.adopt(message.capability, message.news);
      break;
    case 'tell-news':
      for (const [capability, news] of serving.service.capabilities.news())
        tellPrimary({ kind: 'news', capability, news, newcomer: message.newcomer });
      break;
    case 'stop':
      await end(serving, message.graceMs);
      break;
    default:
      throw new TypeError(`${String(message satisfies never)} is not a message`);
  }
}

function watch({ answers, watched }: Working, { feed, isWatched }: Extract<ToWorker, { kind: 'watch' }>): void {
  watched.get(feed)?.();
  watched.delete(feed);
  const stop = isWatched ? answers?.watch(feed, (piece) => tellPrimary({ kind: 'fed', feed, piece })) : undefined;
  if (stop !== undefined) watched.set(feed, stop);
}

/** Reloads; returns the problems if this worker refuses what the primary process accepted. */
async function reload(
  { service, kept, events, fixed }: Working,
  { file, snapshot }: Extract<ToWorker, { kind: 'reload' }>,
): Promise<readonly string[]> {
  try {
    const config = asAtStart(await loadSnapshot(file, snapshot), fixed);
    await service.reload(config);
    kept?.use(config);
    return [];
  } catch (error) {
    events.reloadFailed();
    return problemsOf(error);
  }
}

async function end(serving: Serving | undefined, graceMs: number): Promise<never> {
  await serving?.close(graceMs);
  process.exit(0);
}
