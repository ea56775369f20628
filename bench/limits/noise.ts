/**
 * A noisy client in a process of its own, so that it costs the well-behaved one nothing but what the gateway lets it:
 * `node noise.ts NAME`, told the rest by messages.
 *
 * @module
 */
import { setPriority } from 'node:os';
import { noises } from './noises.ts';
import { LOW, type Target } from './world.ts';

/** What a noisy client is told. */
export type Order = { readonly begin: Target } | { readonly end: true };

/** What it says: that its noise is there, and in the end what came of it. */
export type Told = { readonly begun: true } | { readonly statuses: Statuses };

/** How often each status came; 0: hung up without one. */
export type Statuses = Readonly<Record<string, number>>;

setPriority(LOW);

const begin = noises[process.argv[2] ?? ''];
let end: (() => Promise<unknown>) | undefined;
let statuses: Record<string, number> = {};

async function obey(order: Order): Promise<Told> {
  if (begin === undefined) throw new Error(`no such noise: ${process.argv[2]}`);
  if ('begin' in order) {
    statuses = {};
    end = await begin(order.begin, (status) => (statuses[status] = (statuses[status] ?? 0) + 1));
    return { begun: true };
  }
  await end?.();
  return { statuses };
}

process.on('message', (order) => void obey(order as Order).then((told) => process.send?.(told)));
process.on('disconnect', () => process.exit());
