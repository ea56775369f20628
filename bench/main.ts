/**
 * Measures the gateway and its alternatives, and prints the results beside the aims.
 *
 *     npm run bench -- [SCENARIO…] [--rounds N] [--seconds S] [--quick] [--only CONTENDER,…] [--against CHECKOUT]
 *
 * @module
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, release } from 'node:os';
import { parseArgs } from 'node:util';
import { startBench } from './bench.ts';
import { leaveContenderCore } from './machine/process.ts';
import { scenarios } from './scenarios/all.ts';
import { summary, type Result } from './summary.ts';
import { markdownTable } from './table.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '1' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    against: { type: 'string', multiple: true, default: [] },
  },
});
const unknown = positionals.filter((name) => !scenarios.some((scenario) => scenario.name === name));
if (unknown.length > 0) {
  console.error(
    `unknown scenario ${unknown.join(', ')}; the scenarios are ${scenarios.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
leaveContenderCore();
const bench = await startBench({
  rounds: values.quick ? 3 : Number(values.rounds),
  seconds: Number(values.seconds),
  against: values.against,
  only: values.only?.split(','),
});
try {
  const chosen = scenarios.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const results: Result[] = [];
  for (const { name, about, run } of chosen) {
    console.log(`\n## ${name}: ${about}\n`);
    try {
      const lines = await run(bench);
      console.log(`\n${markdownTable(lines)}`);
      results.push({ scenario: name, about, lines });
    } catch (error) {
      // The results of the other scenarios remain.
      console.error(error);
      process.exitCode = 1;
    }
  }
  const run = describedRun();
  console.log(`\n${run}\n\n${summary(results)}`);
  await write(results, run);
} finally {
  await bench.close();
}

/** The command and the machine, in a sentence for readers of the figures. */
function describedRun(): string {
  const command = ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ');
  const machine = `${cpus().length} × ${cpus()[0]?.model}, Linux ${release()}, Node ${process.version}`;
  const measured = `medians of ${bench.rounds} rounds of ${bench.seconds} s`;
  return `\`${command}\`, ${new Date().toISOString().slice(0, 10)}, ${machine}; ${measured}`;
}

/** Writes the results to `bench/results/`, as JSON and as Markdown. */
async function write(results: readonly Result[], run: string): Promise<void> {
  const folder = new URL('results/', import.meta.url);
  const file = new Date().toISOString().replaceAll(/[:.]/g, '-');
  await mkdir(folder, { recursive: true });
  await writeFile(new URL(`${file}.json`, folder), `${JSON.stringify({ run, results }, undefined, 2)}\n`);
  const tables = results.map(({ scenario, about, lines }) => `## ${scenario}\n\n${about}\n\n${markdownTable(lines)}\n`);
  await writeFile(new URL(`${file}.md`, folder), [run, summary(results), ...tables].join('\n\n'));
  console.log(`\nbench/results/${file}.json and .md`);
}
