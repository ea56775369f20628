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
import { leaveContenderCore } from './machine/cores.ts';
import type { Scenario } from './scenario.ts';
import { firstSight, stampede } from './scenarios/first-sight.ts';
import { latency } from './scenarios/latency.ts';
import { reload, start, workers } from './scenarios/lifecycle.ts';
import { get, list, opaque, post } from './scenarios/requests.ts';
import { size } from './scenarios/size.ts';
import { streams } from './scenarios/streams.ts';
import { markdownTable, type Line } from './table.ts';

const scenarios: readonly Scenario[] = [
  get,
  post,
  list,
  opaque,
  firstSight,
  latency,
  stampede,
  size,
  streams,
  workers,
  start,
  reload,
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '5' },
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
  seconds: values.quick ? 1 : Number(values.seconds),
  against: values.against,
  only: values.only?.split(','),
});
try {
  const chosen = scenarios.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const results: { scenario: string; about: string; lines: readonly Line[] }[] = [];
  for (const { name, about, run } of chosen) {
    console.log(`\n## ${name}: ${about}\n`);
    const lines = await run(bench);
    console.log(`\n${markdownTable(lines)}`);
    results.push({ scenario: name, about, lines });
  }
  await write(results);
} finally {
  await bench.close();
}

/** Writes the results to `bench/results/`, as JSON and as Markdown. */
async function write(results: readonly { scenario: string; about: string; lines: readonly Line[] }[]): Promise<void> {
  const folder = new URL('results/', import.meta.url);
  const time = new Date().toISOString();
  const command = ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ');
  const machine = `${cpus().length} × ${cpus()[0]?.model}, Linux ${release()}, Node ${process.version}`;
  const file = time.replaceAll(/[:.]/g, '-');
  await mkdir(folder, { recursive: true });
  const { rounds, seconds } = bench;
  await writeFile(
    new URL(`${file}.json`, folder),
    `${JSON.stringify({ time, command, machine, rounds, seconds, results }, undefined, 2)}\n`,
  );
  const tables = results.map(({ scenario, about, lines }) => `## ${scenario}\n\n${about}\n\n${markdownTable(lines)}\n`);
  await writeFile(new URL(`${file}.md`, folder), `\`${command}\`, ${time}\n${machine}\n\n${tables.join('\n')}`);
  console.log(`\nbench/results/${file}.json and .md`);
}
