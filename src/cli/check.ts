import { load } from '../config/load.ts';
import { readPolicyTests } from '../config/policy-tests.ts';
import { ConfigError } from '../config/problems.ts';
import { coloured } from './colour.ts';
import { type ExitCode, reportProblems } from './exit.ts';
import { knownClientsText } from './known-clients.ts';

/**
 * `sallyport check`: loads everything that `serve` and `test` would, and prints every problem, then every warning.
 *
 * @param isStrict Whether a warning changes the exit code.
 */
export async function check(file: string, isStrict = false): Promise<ExitCode> {
  try {
    const { config, policyFolder } = await load(file);
    const { routes, policies, warnings } = config;
    const tests = await readPolicyTests(policyFolder.path, policyFolder.label, policies);
    if (tests.problems.length > 0) throw new ConfigError(tests.problems, [file]);
    const label = coloured('warning', 'warning', process.stderr);
    for (const warning of warnings) process.stderr.write(`${label}: ${warning}\n`);
    process.stdout.write(knownClientsText(config.frontDoor?.clients.registration?.known ?? []));
    const isClean = warnings.length === 0;
    const verdict = isClean ? 'ok' : `ok, with ${count(warnings.length, 'warning', 'warnings')}`;
    const counts = `${count(routes.length, 'route', 'routes')}, ${count(policies.size, 'policy', 'policies')}`;
    process.stdout.write(`${file}: ${counts}: ${coloured(isClean ? 'good' : 'warning', verdict)}\n`);
    return isStrict && warnings.length > 0 ? 1 : 0;
  } catch (error) {
    return reportProblems(file, error);
  }
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
