import { hash } from 'node:crypto';
import type { StoreOperation } from '../model/shared.ts';
import type { StoreConnection } from './connection.ts';

/** Runs a script with its keys and arguments, in one atomic step. */
export type Script = (keys: readonly [string, ...string[]], args: readonly string[]) => Promise<unknown>;

/**
 * Creates a script whose keys lie in one slot of a cluster. It is run by its digest: the store is sent the text only if
 * it does not know it, as after a restart.
 *
 * While its slot moves to another server, some of the keys are there already. A cluster runs a script wherever all its
 * declared keys are; the last one that is declared never exists, so that the script waits for the end of the move.
 */
export function createScript(connection: StoreConnection, operation: StoreOperation, text: string): Script {
  const digest = hash('sha1', text);
  return (keys, args) => {
    const options = { keys: [...keys, `${keys[0]}:never`], arguments: [...args] };
    return connection.run(operation, keys[0], (client) =>
      client.evalSha(digest, options).catch((error: unknown) => {
        if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return client.eval(text, options);
        throw error;
      }),
    );
  };
}
