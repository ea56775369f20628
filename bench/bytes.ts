/**
 * Prints what the dearest input of each reader of foreign bytes costs beside an ordinary one, of the same length.
 *
 *     npm run bench:bytes
 *
 * @module
 */
import { corpus, meanCost, readerOf, textOf } from '../test/fuzz/cost/cases.ts';
import { readers } from '../test/fuzz/cost/readers.ts';

console.log('| reader | bytes | ordinary | dearest | of |\n| --- | ---: | ---: | ---: | --- |');
for (const [name, reader] of Object.entries(readers)) {
  const bytes = reader.measured ?? reader.most;
  const costs = corpus
    .filter((shape) => shape.reader === name)
    .map((shape) => ({ shape, ms: meanCost(readerOf(shape), textOf(shape, bytes), 9) }));
  const ordinary = costs.find(({ shape }) => shape.isOrdinary === true);
  const [dearest] = costs.toSorted((one, other) => other.ms - one.ms);
  const [usual, most] = [ordinary, dearest].map((cost) => `${(cost?.ms ?? 0).toFixed(1)} ms`);
  console.log(`| ${name} | ${bytes} | ${usual} | ${most} | \`${JSON.stringify(dearest?.shape.unit.slice(0, 20))}\` |`);
}
