import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { caseOf, lineOf, readCorpus } from '../../fuzz/engine/corpus.ts';
import type { Target } from '../../fuzz/target.ts';
import { targets } from '../../fuzz/targets.ts';
import { startRequestTarget } from '../../fuzz/request/target.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;

/** The findings of the corpus of a target, by the names of the cases. */
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

describe('the corpus has no findings for the target', () => {
  test.each(Object.keys(targets).filter((name) => name !== 'request'))('%s', async (name) => {
    const target = await targets[name]?.();
    expect(target && (await findings(name, target))).toEqual([]);
  });

  test.skipIf(!hasPython)('request, read by Node and Python (skipped without python3)', async () => {
    expect(await findings('request', await startRequestTarget({ withProxies: false }))).toEqual([]);
  });
});

test('a line of a corpus file is ASCII and keeps any name and any bytes', () => {
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(fc.string(), bytes, (name, content) => {
      const line = lineOf(name, Buffer.from(content));
      expect(line).toMatch(/^[ -~]+$/);
      expect(caseOf(line)).toEqual([name, Buffer.from(content)]);
    }),
  );
});
