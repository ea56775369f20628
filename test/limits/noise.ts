/**
 * A noisy client in a process of its own, so that it affects the well-behaved client only through the gateway. Started
 * as `node noise.ts NAME`; messages control it.
 *
 * @module
 */
import { setPriority } from 'node:os';
import { noises } from './noises.ts';
import { LOW, type Target } from './world.ts';

/** A message to a noisy client. */
export type Order = { readonly begin: Target } | { readonly end: true };

/** A message from it: the noise is at full strength, or its results. */
export type Reply = { readonly begun: true } | { readonly statuses: Statuses };

/** The number of answers by status; 0 for connections that closed without one. */
export type Statuses = Readonly<Record<string, number>>;

setPriority(LOW);

const begin = noises[process.argv[2] ?? ''];
let end: (() => Promise<unknown>) | undefined;
let statuses: Record<string, number> = {};

async function obey(order: Order): Promise<Reply> {
  if (begin === undefined) throw new Error(`unknown noise ${process.argv[2]}`);
  if ('begin' in order) {
    statuses = {};
    end = await begin(order.begin, (status) => (statuses[status] = (statuses[status] ?? 0) + 1));
    return { begun: true };
  }
  await end?.();
  return { statuses };
}

process.on('message', (order) => void obey(order as Order).then((reply) => process.send?.(reply)));
process.on('disconnect', () => process.exit());
