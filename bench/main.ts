/**
 * Measures the gateway and its alternatives, and prints the results beside the aims.
 *
 *     npm run bench -- [SCENARIO…] [--rounds N] [--seconds S] [--quick] [--only CONTENDER,…] [--against CHECKOUT]
 *
 * @module
 */
import { cpus, release } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startBench } from './bench.ts';
import { comparisonTable } from './compare-cpu.ts';
import { leaveContenderCore, written } from './machine/process.ts';
import { scenarios } from './scenarios/all.ts';
import { aimsTable, markdownTable, missedGates, type Result } from './table.ts';

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
const names = scenarios.map(({ name }) => name);
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`unknown scenario ${unknown.join(', ')}; the scenarios are ${names.join(', ')}`);
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
  const results: Result[] = [];
  for (const { name, about, run } of scenarios) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
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
  const summary = [describedRun(), comparisonTable(results), aimsTable(results)].filter(Boolean).join('\n\n');
  console.log(`\n${summary}`);
  const tables = results.map(({ scenario, about, lines }) => `## ${scenario}\n\n${about}\n\n${markdownTable(lines)}\n`);
  const name = `results/${new Date().toISOString().replaceAll(/[:.]/g, '-')}.md`;
  await written(fileURLToPath(new URL(name, import.meta.url)), [summary, ...tables].join('\n\n'));
  console.log(`\nbench/${name}`);
  for (const missed of missedGates(results)) {
    console.error(`slower: ${missed}`);
    process.exitCode = 1;
  }
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
