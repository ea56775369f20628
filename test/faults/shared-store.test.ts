import { expect, test } from 'vitest';
import { hasRedis } from '../support/redis.ts';
import { createProver } from '../support/prover.ts';
import { startBed } from './bed.ts';
import { patient } from './rows.ts';
import { call } from './seen.ts';
import { survive } from './survive.ts';
import { wireFault, wireRows } from './wire-faults.ts';

test.each(wireRows('shared store'))('%s', patient, async (name) => {
  expect(await survive(wireFault(name))).toEqual([]);
});

test('shared store: is killed and comes back empty', patient, async () => {
  if (!hasRedis) return;
  const bed = await startBed();
  const prover = await createProver('ES256', bed.clock);
  const token = await bed.token({ cnf: prover.cnf });
  const proof = () => prover.headers({ url: 'http://gateway.test/proven', token });
  const statusOf = async (headers: Record<string, string>) => (await call(bed, '/proven', { headers })).status;
  const used = await proof();
  await expect.poll(async () => statusOf(await proof()), { timeout: 10_000 }).toBe(200);
  await expect.poll(() => statusOf(used), { timeout: 10_000 }).toBe(200);

  await bed.redis?.kill();
  expect(await statusOf(await proof()), 'no proof can be checked').toBe(503);
  expect(await statusOf(used)).toBe(503);
  const plain = { authorization: `Bearer ${await bed.token()}` };
  expect((await call(bed, '/api', { headers: plain })).status, 'what needs no store').toBe(200);

  await bed.redis?.restart();
  await expect.poll(async () => statusOf(await proof()), { timeout: 15_000 }).toBe(200);
  await expect.poll(() => statusOf(used), { timeout: 10_000 }).toBe(401);
  await bed.close();
});
