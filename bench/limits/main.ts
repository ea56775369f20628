/**
 * What callers can do to the gateway and to each other: for each nuisance the answers, the memory of the gateway's process,
 * and the p99 of a well-behaved client, alone and beside it, A B A B.
 *
 *     npm run limits -- [WORD…] [--seconds 4]      the nuisances whose names contain all words; default: all
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
  console.error(`none of: ${Object.keys(noises).join('; ')}`);
  process.exit(2);
}
// With all that it starts, but for the nuisances, which would have machines of their own. Only root may.
if (process.getuid?.() === 0) setPriority(-10);
leaveContenderCore();
const head = ['nuisance', 'answers', 'RSS before → peak → after, MiB', 'p99 alone', 'beside it', 'ratio'];
for (const cells of [head, head.map(() => '---')]) console.log(`| ${cells.join(' | ')} |`);
for (const name of chosen) {
  const { statuses, residentMiB, aloneMs, besideMs } = await measure(name, Number(values.seconds));
  const answers = Object.entries(statuses).map(
    ([status, count]) => `${count} × ${status === '0' ? 'hung up' : status}`,
  );
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
