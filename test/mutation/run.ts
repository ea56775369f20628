/**
 * Makes mutants of the parts of `src/` that decide, and says which of them no test notices.
 *
 *     npm run mutation -- [PART…] [--quick]
 *
 * `--quick` leaves out mutants of what is done once, when a module is loaded: each has everything loaded anew.
 *
 * @module
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import type { MutantResult, PartialStrykerOptions } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { equivalents } from './equivalents.ts';
import { parts, type Part } from './parts.ts';

const { values: options, positionals } = parseArgs({ options: { quick: { type: 'boolean' } }, allowPositionals: true });
const chosen = Object.entries(parts).filter(([name]) => positionals.length === 0 || positionals.includes(name));
const unknown = positionals.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0)
  throw new Error(`no part is called ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`);

for (const [name, part] of chosen) {
  const { detected, survived, explained, ignored } = await told(await mutantsOf(part));
  const score = (100 * detected) / (detected + survived.length);
  process.stdout.write(survived.map((line) => `  ${line}\n`).join(''));
  process.stdout.write(
    `${name}: ${score.toFixed(1)} % (floor ${part.floor} %): ${detected} of ${detected + survived.length} noticed, ` +
      `${explained} that nothing could notice, ${ignored} left out\n`,
  );
  if (score < part.floor) process.exitCode = 1;
}

async function mutantsOf(part: Part): Promise<readonly MutantResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-mutation-'));
  // Stryker starts its workers with our environment, and has no other way to tell ours anything.
  process.env['MUTATION_TESTS'] = JSON.stringify(part.tests);
  try {
    return await new Stryker({
      mutate: [...part.mutate],
      plugins: [import.meta.resolve('./in-process.ts'), import.meta.resolve('./prose.ts')],
      ignorers: ['prose'],
      testRunner: 'in-process',
      coverageAnalysis: 'perTest',
      ignoreStatic: options.quick === true,
      concurrency: 2,
      // Even on a busy machine who takes so long has no end: what only seemed so would count as noticed.
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

/** What came of the mutants; `survived` are those that {@link equivalents} does not explain, each as a line of its file. */
async function told(
  mutants: readonly MutantResult[],
): Promise<{ detected: number; survived: readonly string[]; explained: number; ignored: number }> {
  const survived: string[] = [];
  const counts = { detected: 0, explained: 0, ignored: 0 };
  for (const mutant of mutants) {
    if (mutant.status === 'Killed' || mutant.status === 'Timeout') counts.detected += 1;
    else if (mutant.status !== 'Survived' && mutant.status !== 'NoCoverage') counts.ignored += 1;
    else {
      const file = relative('.', mutant.fileName);
      const line = await asItReads(mutant);
      if (Object.values(equivalents[file] ?? {}).some((lines) => lines.includes(line))) counts.explained += 1;
      else survived.push(`${file}:${mutant.location.start.line}: ${line}`);
    }
  }
  return { ...counts, survived };
}

/** The line of a mutant, with what replaces it. */
async function asItReads({ fileName, location: { start, end }, replacement }: MutantResult): Promise<string> {
  const lines = (await readFile(fileName, 'utf8')).split('\n');
  const before = lines[start.line - 1]?.slice(0, start.column - 1) ?? '';
  const after = lines[end.line - 1]?.slice(end.column - 1) ?? '';
  return `${before}${replacement}${after}`.replaceAll(/\s+/g, ' ').trim();
}
