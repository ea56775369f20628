import type { Socket } from 'node:net';

/**
 * Remembers a value for a socket until it closes. Node keeps a closed socket until the next full collection, and with
 * it what a WeakMap has for it: a request, its call and its answer.
 */
export function rememberWhileOpen<Value>(values: WeakMap<object, Value>, socket: Socket, value: Value): void {
  if (!values.has(socket)) socket.on('close', () => values.delete(socket));
  values.set(socket, value);
}
