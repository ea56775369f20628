/**
 * Mutates parts of `src/` and prints the mutants that no test notices.
 *
 *     npm run mutation -- [PART|FILE…] [--quick]
 *
 * A file is mutated as in its part, with all tests of the part.
 *
 * `--quick` leaves out mutants in code that runs once, when a module is loaded. Each of them needs all modules loaded
 * again.
 *
 * @module
 */
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import type { MutantResult, PartialStrykerOptions } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { equivalents } from './equivalents.ts';
import { isNamed, placed, type PlacedMutant } from './mutants.ts';
import { parts, testsOf, type Part } from './parts.ts';

const { values: options, positionals } = parseArgs({ options: { quick: { type: 'boolean' } }, allowPositionals: true });
const files = new Set(Object.values(parts).flatMap(({ mutate }) => globSync([...mutate])));
const unknown = positionals.filter((name) => !Object.hasOwn(parts, name) && !files.has(name));
if (unknown.length > 0) {
  const accepted = `the parts are ${Object.keys(parts).join(', ')}, and a file must belong to one of them`;
  throw new Error(`unknown part or file ${unknown.join(', ')}; ${accepted}`);
}

for (const [name, part] of Object.entries(parts)) {
  const isWhole = positionals.length === 0 || positionals.includes(name);
  const mutate = globSync([...part.mutate]).filter((file) => isWhole || positionals.includes(file));
  if (mutate.length === 0) continue;
  const { detected, survived, explained, wrong, ignored } = judged(await mutantsOf({ ...part, mutate }));
  const score = (100 * detected) / (detected + survived.length);
  process.stdout.write(survived.map((line) => `  ${line}\n`).join(''));
  process.stdout.write(wrong.map((line) => `  a test notices it, remove it from equivalents.txt: ${line}\n`).join(''));
  process.stdout.write(
    `${name}: ${score.toFixed(1)} % (floor ${part.floor} %): ${detected} of ${detected + survived.length} noticed, ` +
      `${explained} equivalent, ${ignored} left out\n`,
  );
  if (score < part.floor || wrong.length > 0) process.exitCode = 1;
}

async function mutantsOf(part: Part): Promise<readonly MutantResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-mutation-'));
  // Stryker passes its environment to its workers. There is no other way to give ours a value.
  process.env['MUTATION_TESTS'] = JSON.stringify(testsOf(part));
  try {
    return await new Stryker({
      mutate: [...part.mutate],
      plugins: [import.meta.resolve('./in-process.ts'), import.meta.resolve('./prose.ts')],
      ignorers: ['prose'],
      testRunner: 'in-process',
      coverageAnalysis: 'perTest',
      ignoreStatic: options.quick === true,
      concurrency: 2,
      // Long enough for a busy machine: a mutant that is only slow must not count as noticed.
      timeoutMS: 30_000,
      reporters: [],
      logLevel: 'error' as NonNullable<PartialStrykerOptions['logLevel']>,
      warnings: { slow: false, unknownOptions: true, preprocessorErrors: true, unserializableOptions: true },
      tempDirName: folder,
      cleanTempDir: 'always',
      ignorePatterns: ['/*', '!/src', '!/test', '!/demo', '!/schema', '!/policies', '!/package.json', '!/gateway.yaml'],
    }).runMutationTest();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Judged {
  readonly detected: number;
  readonly explained: number;
  readonly ignored: number;
  /** Neither detected nor in {@link equivalents}. */
  readonly survived: readonly string[];
  /** In {@link equivalents} and detected all the same. */
  readonly wrong: readonly string[];
}

function judged(mutants: readonly MutantResult[]): Judged {
  const survived: string[] = [];
  const wrong: string[] = [];
  const counts = { detected: 0, explained: 0, ignored: 0 };
  for (const found of placed(mutants, 1)) {
    const { status } = found.mutant;
    const isExplained = equivalents.some((name) => isNamed(name, found));
    if (status === 'Killed' || status === 'Timeout') {
      counts.detected += 1;
      if (isExplained) wrong.push(described(found));
    } else if (status !== 'Survived' && status !== 'NoCoverage') counts.ignored += 1;
    else if (isExplained) counts.explained += 1;
    else survived.push(described(found));
  }
  return { ...counts, survived, wrong };
}

/** The place of a mutant, its line with the replacement, and its name for {@link equivalents}. */
function described({ mutant, path, nth }: PlacedMutant): string {
  const { fileName, mutatorName, replacement, location } = mutant;
  const { start, end } = location;
  const lines = readFileSync(fileName, 'utf8').split('\n');
  const before = lines[start.line - 1]?.slice(0, start.column - 1) ?? '';
  const after = lines[end.line - 1]?.slice(end.column - 1) ?? '';
  const line = `${before}${replacement}${after}`.replaceAll(/\s+/g, ' ').trim();
  const name = `${path} ${mutatorName} ${nth}: ${replacement}`;
  return `${relative('.', fileName)}:${start.line}: ${line}\n    ${name}`;
}
