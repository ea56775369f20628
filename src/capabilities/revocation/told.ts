/**
 * Whose rights ended, as the front door learns of it: from the store, or from the gateway that started it.
 *
 * @module
 */

import type { Config } from '../../ports/config.ts';
import type { Revocation, RevocationNews } from './revoked.ts';
import type { FollowParts, ToldRevocations } from '../capability.ts';
import { RevocationIndex } from './revocation-index.ts';
import { revocationSettings } from './slot.ts';

const MAX_IN_MESSAGE = 1_000;

/** A message about revocations to the process of the front door. */
export type RevocationMessage =
  | { readonly kind: 'revoked'; readonly news: RevocationNews }
  /** Whether everything is known that replicas have kept, and how long it is remembered. */
  | { readonly kind: 'revocations-ready'; readonly isReady: boolean; readonly keepMs: number };

/** Everything that a process that begins has to know, in messages of a bounded size. */
export function* everything(check: RevocationIndex): Iterable<RevocationMessage> {
  let revocations: Revocation[] = [];
  for (const revocation of check.all()) {
    revocations.push(revocation);
    if (revocations.length < MAX_IN_MESSAGE) continue;
    yield { kind: 'revoked', news: { revocations, dropped: [] } };
    revocations = [];
  }
  if (revocations.length > 0) yield { kind: 'revoked', news: { revocations, dropped: [] } };
  yield readiness(check);
}

/** Takes a message into the index of this process. */
function learn(index: RevocationIndex, message: RevocationMessage): void {
  if (message.kind === 'revoked') index.add(message.news.revocations);
  else {
    index.keepFor(message.keepMs);
    index.setReady(message.isReady);
  }
}

/** {@link RevocationMessage} of an index. */
export function readiness(check: RevocationIndex): RevocationMessage {
  return { kind: 'revocations-ready', isReady: check.isReady(), keepMs: check.keepMs };
}

/** Follows what is kept. Without a store, nothing counts as known until {@link ToldRevocations.take} got all. */
export async function followRevocations(config: Config, parts: FollowParts): Promise<ToldRevocations> {
  const index = new RevocationIndex();
  index.setReady(false);
  use(config);
  await followStore(index, config, parts);
  return {
    check: index,
    take: (message) => learn(index, message as RevocationMessage),
    use,
  };

  function use(next: Config): void {
    const settings = revocationSettings.of(next);
    if (settings !== undefined) index.keepFor(settings.keepMs);
  }
}

async function followStore(
  index: RevocationIndex,
  { shared, sessionKey }: Config,
  { log, openStore }: FollowParts,
): Promise<void> {
  if (shared === undefined || sessionKey === undefined) return;
  const { RevocationStore } = await import('./revocation-store.ts');
  const { connection, sealing } = await openStore(shared, { sessionKey, clock: Date.now, log });
  const store = new RevocationStore({
    connection,
    sealing,
    clock: Date.now,
    keepMs: () => index.keepMs,
    onNews: (revocations) => index.add(revocations),
    onComplete: () => index.setReady(true),
    known: () => index.all(),
    isLifted: (revocation) => index.isLifted(revocation),
    onCorrupt: (key) => log('warn', 'shared store holds a revocation that no replica wrote', { key }),
  });
  void store.follow();
}
