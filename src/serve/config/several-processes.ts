import { capabilities } from '../../capabilities/all.ts';
import { ConfigError, Problem } from '../../core/config/problems.ts';
import type { Loaded } from './load.ts';

/** The processes of one gateway. */
export interface Processes {
  readonly workers: number;
  /** Whether the front door runs elsewhere. */
  readonly withoutFrontDoor: boolean;
}

/**
 * Requires `shared` for what several processes must know together: they have no memory in common.
 *
 * @param file The name of `gateway.yaml`.
 * @throws {ConfigError} with each reason, by name.
 */
export function requireShared(
  { config, files }: Pick<Loaded, 'config' | 'files'>,
  file: string,
  { workers, withoutFrontDoor }: Processes,
): void {
  if (workers === 1 || config.shared !== undefined) return;
  const reasons = [
    ...config.routes.filter(({ rate }) => rate !== undefined).map(({ name }) => `the route ${name} has a rate`),
    ...capabilities.flatMap(({ needsShared }) => needsShared?.(config) ?? []),
    ...(config.frontDoor === undefined || withoutFrontDoor ? [] : ['the gateway starts its front door']),
  ];
  if (reasons.length === 0) return;
  const problems = reasons.map(
    (reason) => new Problem(file, undefined, [], `--workers ${workers} needs \`shared\`, because ${reason}`),
  );
  throw new ConfigError(problems, files);
}
