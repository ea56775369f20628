/**
 * Runs the gateway under a mixed load, and checks that nothing grows and that every request is accounted for.
 *
 *     npm run soak -- [90s | 10m | 1h] [--rate 150] [--report FILE]
 *
 * @module
 */
import { writeFile } from 'node:fs/promises';
import { cpus, release } from 'node:os';
import { parseArgs } from 'node:util';
import { report } from './report.ts';
import { soak } from './soak.ts';
import { verdict } from './verdict.ts';

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rate: { type: 'string', default: '150' }, report: { type: 'string' } },
});
const [, amount, unit = ''] = /^([0-9]+)([smh])$/.exec(positionals[0] ?? '10m') ?? [];
const perSecond = Number(values.rate);
if (amount === undefined || !(perSecond > 0)) {
  console.error('npm run soak -- [90s | 10m | 1h] [--rate REQUESTS A SECOND] [--report FILE]');
  process.exit(2);
}
const durationMs = Number(amount) * (units[unit] ?? 0);
const began = new Date();
const soaked = await soak({
  durationMs,
  perSecond,
  sampleMs: Math.min(10_000, durationMs / 10),
  editMs: Math.min(20_000, durationMs / 10),
  tokenSeconds: Math.max(20, Math.min(60, durationMs / 4_000)),
  onSample: (sample) => console.log(JSON.stringify(sample, (_key, value: unknown) => rounded(value))),
});
const checks = verdict(soaked);
const command = ['npm run soak', '--', ...process.argv.slice(2)].join(' ');
const hardware = `${cpus().length} × ${cpus()[0]?.model}`;
const machine = `${began.toISOString()}, ${hardware}, Linux ${release()}, Node ${process.version}`;
const text = report(command, machine, soaked, checks);
console.log(`\n${text}`);
if (values.report !== undefined) await writeFile(values.report, text);
const isSound = checks.every(({ holds }) => holds !== false);
console.log(isSound ? 'all checks passed' : 'some checks FAILED');
process.exit(isSound ? 0 : 1);

function rounded(value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 10) / 10 : value;
}
