/**
 * Fuzzes the gateway and its parsers with random cases, guided by coverage, and checks each result with an oracle.
 *
 *     npm run fuzz -- [--target NAME]… [--cases N] [--seed N] [--keep]
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { addCase, readCorpus } from './engine/corpus.ts';
import { startCoverage } from './engine/coverage.ts';
import { fuzz } from './engine/fuzz.ts';
import { createRandom } from './engine/random.ts';
import { targets } from './targets.ts';
import { forgetPrints } from '../test/support/secrecy.ts';

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true, default: Object.keys(targets) },
    cases: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now()) },
    keep: { type: 'boolean', default: false },
  },
});
const unknown = values.target.filter((name) => !Object.hasOwn(targets, name));
if (unknown.length > 0 || !/^\d+$/.test(values.cases)) {
  console.error(`npm run fuzz -- [--target ${Object.keys(targets).join('|')}]… [--cases N] [--seed N] [--keep]`);
  process.exit(2);
}
console.log(`seed ${values.seed}, Node ${process.version}`);
const coverage = startCoverage();
let found = 0;
for (const name of values.target) {
  const began = performance.now();
  const target = await targets[name]!();
  const seconds = (): string => ((performance.now() - began) / 1000).toFixed(0);
  let reportedAt = performance.now();
  const report = await fuzz(target, [...readCorpus(name).values()], {
    cases: Number(values.cases),
    random: createRandom(`${values.seed} ${name}`),
    coverage,
    shrink: values.keep,
    onFinding({ input, what }) {
      console.log(`\nFINDING, kept in fuzz/corpus/${name}.jsonl as ${addCase(name, input, 'finding-')}:\n${what}\n`);
    },
    onProgress(cases, kept) {
      forgetPrints();
      if (performance.now() - reportedAt < 10_000) return;
      reportedAt = performance.now();
      const { reached, known } = coverage.blocks();
      console.log(`  ${name}: ${cases} cases in ${seconds()} s, ${kept} kept, ${reached}/${known} blocks`);
    },
  });
  const { reached, known, files } = coverage.blocks();
  console.log(`${name}: ${report.cases} cases in ${seconds()} s, ${report.ways} ways, ${report.findings} findings`);
  console.log(`  ${reached} of ${known} blocks ran so far, in ${files} files of src`);
  if (target.summary !== undefined) console.log(`  ${target.summary()}`);
  if (values.keep) for (const input of report.kept) addCase(name, input);
  if (report.kept.length > 0)
    console.log(`  ${report.kept.length} cases reached something new${values.keep ? ' and are kept' : ''}`);
  found += report.findings;
  await target.close?.();
}
coverage.stop();
process.exitCode = found > 0 ? 1 : 0;
