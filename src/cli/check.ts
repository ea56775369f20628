import { loadConfig } from '../config/load.ts';
import { warningsOf } from '../config/warnings.ts';
import { type ExitCode, reportProblems } from './exit.ts';

/** `sallyport check`: loads everything and prints every problem. A warning does not change the exit code. */
export async function check(file: string): Promise<ExitCode> {
  try {
    const config = await loadConfig(file);
    const { routes, policies } = config;
    for (const warning of warningsOf(config)) process.stderr.write(`warning: ${file}: ${warning}\n`);
    process.stdout.write(
      `${file}: ${count(routes.length, 'route', 'routes')}, ${count(policies.size, 'policy', 'policies')}: ok\n`,
    );
    return 0;
  } catch (error) {
    return reportProblems(file, error);
  }
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
