import { expect, test } from 'vitest';
import type { Batch } from '../../../src/capabilities/console/messages.ts';
import { newDecisions, observeProcess, past } from '../../../src/capabilities/console/questions.ts';
import { processAnswers, singleSource } from '../../../src/serve/admin/answers.ts';
import type { Outcome } from '../../../src/core/model/outcome.ts';

function outcome(id: number, allow: boolean): Outcome {
  const call = { id: '', decision: String(id), method: 'GET', startedAt: 0, trace: undefined };
  const denial = allow ? undefined : { reason: 'claim.denied', detail: '', scope: [] };
  return { call, allow, denial, decidedAt: 1 } as unknown as Outcome;
}

test('sends refusals first, and evenly spread allowed calls, when there are too many', async () => {
  const { events, answers, feeds } = observeProcess(Date.now);
  const { ask, watch } = singleSource(processAnswers(answers, feeds));
  const { promise, resolve } = Promise.withResolvers<Batch>();
  const stop = watch(newDecisions, resolve);
  for (let id = 0; id < 1000; id += 1) events.decided?.(outcome(id, id % 25 !== 0));
  const { rows, leftOut } = await promise;
  stop();
  expect([rows.length, leftOut]).toEqual([100, 900]);
  expect(rows.filter(({ kind }) => kind === 'refused')).toHaveLength(40);
  const allowed = rows.filter(({ kind }) => kind === 'allowed').map(({ id }) => Number(id));
  expect(Math.max(...allowed) - Math.min(...allowed)).toBeGreaterThan(900);
  expect(await ask(past, { outcome: 'refused' })).toMatchObject({ selected: 40, kept: 1000 });
});
