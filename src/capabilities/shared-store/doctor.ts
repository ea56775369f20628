import type { Config } from '../../ports/config.ts';
import { type Finding, findingsOn } from '../finding.ts';
import { connectStore } from './connection.ts';

/** Examines the shared store, by the connection that serves requests: it must take a write. */
export async function examineStore({ shared }: Pick<Config, 'shared'>): Promise<readonly Finding[]> {
  if (shared === undefined) return [];
  const on = findingsOn('shared');
  const connected = Promise.withResolvers<void>();
  // Its first line in the log says whether the store took a write.
  const connection = connectStore(shared.url, { log: () => connected.resolve() });
  await connected.promise;
  const { state, problem = '' } = connection.state();
  await connection.close();
  if (state === 'available') return [on.ok('the store takes writes')];
  const text = `the store is unavailable: ${problem}`;
  return [on.fail(text, 'check its address, password and memory; replicas count alone until then')];
}
