import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { readCorpus } from '../../fuzz/engine/corpus.ts';
import type { Target } from '../../fuzz/target.ts';
import { targets } from '../../fuzz/targets.ts';
import { startRequestTarget } from '../../fuzz/request/target.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;

/** What went wrong, by the names of the cases. */
async function findings(name: string, target: Target): Promise<readonly string[]> {
  const corpus = [...readCorpus(name)];
  expect(corpus).not.toEqual([]);
  try {
    const outcomes = await target.run(corpus.map(([, input]) => input));
    return outcomes.flatMap(({ finding }, i) => (finding === undefined ? [] : [`${corpus[i]?.[0]}: ${finding}`]));
  } finally {
    await target.close?.();
  }
}

describe('every case that fuzzing has kept', () => {
  test.each(Object.keys(targets).filter((name) => name !== 'request'))('%s', async (name) => {
    const target = await targets[name]?.();
    expect(target && (await findings(name, target))).toEqual([]);
  });

  test.skipIf(!hasPython)(
    'request, as Node and Python read what reached the upstream (skipped without python3)',
    async () => {
      expect(await findings('request', await startRequestTarget({ withProxies: false }))).toEqual([]);
    },
  );
});
