/**
 * Measures the harm that one noisy client can do. For each kind of noise, prints the answers, the memory of the
 * gateway's process, and the p99 of a well-behaved client without and with the noise, in the order A B A B. Standard
 * error shows the step that runs: a noise takes 40 seconds or more.
 *
 *     npm run limits -- [WORD…] [--seconds 4]      noises whose names contain all words; default: all
 *
 * @module
 */
import { setPriority } from 'node:os';
import { parseArgs } from 'node:util';
import { leaveContenderCore } from '../machine/cores.ts';
import { measure } from './measure.ts';
import { noises } from './noises.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '4' } },
});
const chosen = Object.keys(noises).filter((name) => positionals.every((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(`no noise has these words; the noises are: ${Object.keys(noises).join('; ')}`);
  process.exit(2);
}
// A high priority for this program and those that it starts, except the noises. Only root may set it.
if (process.getuid?.() === 0) setPriority(-10);
leaveContenderCore();
const head = ['noise', 'answers', 'RSS before → peak → after, MiB', 'p99 without', 'p99 with', 'ratio'];
for (const cells of [head, head.map(() => '---')]) console.log(`| ${cells.join(' | ')} |`);
for (const name of chosen) {
  const { statuses, residentMiB, aloneMs, besideMs } = await measure(name, Number(values.seconds), (step) =>
    console.error(`${name}: ${step}`),
  );
  const answers = Object.entries(statuses).map(([status, count]) => `${count} × ${status === '0' ? 'closed' : status}`);
  const cells = [
    name,
    answers.join(', '),
    residentMiB.map((mib) => mib.toFixed(0)).join(' → '),
    `${aloneMs.toFixed(1)} ms`,
    `${besideMs.toFixed(1)} ms`,
    (besideMs / aloneMs).toFixed(1),
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
