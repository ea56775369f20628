import { connectStore } from '../../store/connection.ts';
import type { Config } from '../../model/config.ts';
import { type Finding, findingsOn } from './finding.ts';

/** Examines the shared store, by the connection that serves requests: it must take a write. */
export async function examineStore({ shared }: Config): Promise<readonly Finding[]> {
  if (shared === undefined) return [];
  const on = findingsOn('shared');
  const connected = Promise.withResolvers<void>();
  const observer = { storeUp() {}, storeRequest() {} };
  // Its first line in the log says whether the store took a write.
  const connection = connectStore(shared.url, observer, () => connected.resolve());
  await connected.promise;
  const { state, problem = '' } = connection.state();
  await connection.close();
  if (state === 'available') return [on.ok('the store takes writes')];
  const text = `the store is unavailable: ${problem}`;
  return [on.fail(text, 'check its address, password and memory; replicas count alone until then')];
}
