import type { Soaked } from './soak.ts';
import type { Check } from './verdict.ts';

/** The most samples in the report. */
const ROWS = 15;

/** The report of a run in Markdown: the checks, samples, and the outcomes of all requests. */
export function report(command: string, machine: string, soaked: Soaked, checks: readonly Check[]): string {
  const { deepSamples, base, after, ledger } = soaked;
  const step = Math.max(1, Math.ceil(deepSamples.length / ROWS));
  const shown = [base, ...deepSamples.filter((_, index) => index % step === step - 1), after];
  const sampleRows = shown.map(({ at, residentMiB, heapMiB, descriptors, timers, streams, lagMs }) => [
    String(at),
    residentMiB.toFixed(1),
    heapMiB.toFixed(1),
    String(descriptors),
    String(timers),
    String(streams),
    lagMs.toFixed(1),
  ]);
  const mark = ({ holds }: Check): string => (holds === undefined ? 'too short to tell' : holds ? 'yes' : '**no**');
  const parts = [
    `\`${command}\`\n${machine}`,
    table(
      ['check', 'found', 'holds'],
      checks.map((check) => [check.what, check.found, mark(check)]),
    ),
    table(['s', 'RSS MiB', 'heap MiB', 'descriptors', 'timers', 'streams', 'lag p99 ms'], sampleRows),
    table(['route, kind, outcome', 'requests'], sorted(ledger.totals.client)),
    table(['log messages other than decisions', 'times'], sorted(ledger.totals.events)),
    ledger.problems.map((problem) => `- ${problem}`).join('\n'),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function sorted(counts: ReadonlyMap<string, number>): readonly (readonly string[])[] {
  return [...counts].map(([key, count]) => [key, String(count)]).toSorted(([a = ''], [b = '']) => a.localeCompare(b));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
