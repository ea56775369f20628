import * as fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { forgetPrints } from '../support/secrecy.ts';
import { changedCase, readCorpus } from './cases.ts';
import { startRequestTarget } from './request/target.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;
/** The cases that are sent at once. */
const BATCH = 128;
const batches = Math.ceil(Number(process.env['FUZZ_CASES'] ?? 2 * BATCH) / BATCH);

test.skipIf(!hasPython)(
  'the gateway, Python, nginx and haproxy read each request that reaches the upstream alike (skipped without python3)',
  { timeout: 24 * 3_600_000 },
  async () => {
    const target = await startRequestTarget({ withProxies: process.env['FUZZ_CASES'] !== undefined });
    try {
      const seeds = readCorpus();
      expect(await target.run(seeds)).toEqual([]);
      await fc.assert(
        fc.asyncProperty(fc.gen(), async (generate) => {
          const inputs = Array.from({ length: BATCH }, () => changedCase(generate, seeds));
          expect(await target.run(inputs)).toEqual([]);
          forgetPrints();
        }),
        { numRuns: batches, endOnFailure: true },
      );
      expect(target.forwarded).toBeGreaterThan(0);
    } finally {
      await target.close();
    }
  },
);
