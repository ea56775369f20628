import { disk } from '../config/files.ts';
import { readPolicies } from '../config/policies.ts';
import { ConfigError, Problem } from '../config/problems.ts';
import type { Policy } from '../model/policy.ts';

/**
 * The policies of a folder, by name.
 *
 * @throws {ConfigError} with every problem of the policies.
 */
export async function policiesIn(folder: string): Promise<ReadonlyMap<string, Policy>> {
  const { exists, policies, problems } = await readPolicies(folder, folder, disk);
  if (!exists) throw new ConfigError([new Problem(folder, undefined, [], 'is not a folder')], []);
  if (problems.length > 0) throw new ConfigError(problems, []);
  return new Map([...policies].filter((entry): entry is [string, Policy] => entry[1] !== undefined));
}
