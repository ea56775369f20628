import type { McpAttempt } from '../model/policy.ts';
import type { Entry } from './entry.ts';
import { isHousekeeping } from './housekeeping.ts';
import type { Listing } from './listing.ts';
import { targetKinds } from './target-kinds.ts';
import { type Unlisted, unlistedMethod, unlistedTarget } from './unlisted.ts';

/**
 * Every entry that a message falls under, and whose conditions it must meet: those of what it acts on, then that of its
 * method, if any. None for housekeeping that `methods` does not mention.
 *
 * @returns what is not listed, where something is not: each thing that the message acts on must be, and the method of a
 *   message that acts on nothing and is no housekeeping.
 */
export function askedEntries(listing: Listing, { method, targets }: McpAttempt): readonly Entry[] | Unlisted {
  const entries: Entry[] = [];
  for (const { kind, name } of targets) {
    const find = listing[kind];
    // What a completion refers to decides where the policy lists such things, else `methods` must allow it.
    if (find === undefined && method === 'completion/complete') continue;
    const entry = find?.(name);
    if (entry === undefined) return unlistedTarget(kind, name);
    entries.push(entry);
  }
  const kind = method === undefined ? undefined : targetKinds.get(method);
  if (kind !== undefined && !targets.some((target) => target.kind === kind)) return unlistedTarget(kind, undefined);

  const own = method === undefined ? undefined : listing.method?.(method);
  if (own !== undefined) return [...entries, own];
  const decided = kind !== undefined || (method === 'completion/complete' && entries.length > 0);
  return decided || isHousekeeping(method) ? entries : unlistedMethod(method);
}
