import type { Worker } from 'node:cluster';

/** A connection that the primary process has accepted and sends to a worker. */
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
