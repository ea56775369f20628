import type { Worker } from 'node:cluster';

/** What Node sends between processes besides messages: here a connection that was accepted for a worker. */
interface Handle {
  close(): void;
}

/**
 * Ends the connection that was on its way to a worker when that died. Node itself forgets it, open, and its client would
 * wait for ever: lib/internal/cluster/round_robin_handle.js closes it when the worker says that it has it. One that the
 * worker has taken is closed here already, and to close it again does nothing.
 */
export function closeOrphanedConnections(worker: Worker): void {
  const { process: child } = worker;
  /** The last one for each listener: Node hands over one at a time. */
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
