import { loadConfig } from '../config/load.ts';
import type { ExitCode } from './exit-code.ts';
import { reportProblems } from './report-problems.ts';

/** `sallyport check`: loads everything and says what is wrong. */
export async function check(file: string): Promise<ExitCode> {
  try {
    const { routes, policies } = await loadConfig(file);
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
