import { expect, test } from 'vitest';
import { createKey } from '../support/issuer.ts';
import { inADay, startBed } from './bed.ts';
import { patient } from './rows.ts';
import { call } from './seen.ts';
import { endure, sharedBed } from './survive.ts';
import { wireFault, wireRows } from './wire-faults.ts';

const bed = sharedBed();

test.each(wireRows('authorization server'))('%s', patient, async (name) => {
  expect(await endure(bed(), wireFault(name))).toEqual([]);
});

test('authorization server: comes back with other keys', patient, async () => {
  const bed = await startBed();
  const statusOf = async (token: string): Promise<number | undefined> =>
    (await call(bed, '/api', { headers: { authorization: `Bearer ${token}` } })).status;
  const { issuer } = bed.server;
  const [old, later] = [await bed.token(), await bed.token({ jti: 'not shown before' })];
  expect(await statusOf(old)).toBe(200);

  await bed.server.down();
  expect(await statusOf(old), 'one that is known').toBe(200);
  const next = await createKey('k2');
  const claims = { aud: 'r', scope: 'read' };
  const renewed = await issuer.sign({ ...claims, exp: inADay() }, { key: next });
  // A key that nobody knows, and nobody to ask; a moment ago there was somebody, and the key was not among theirs.
  bed.advance(61);
  expect(await statusOf(renewed)).toBe(503);

  issuer.keys = [next.publicJwk];
  await bed.server.up();
  bed.advance(61);
  await expect.poll(() => statusOf(renewed), { timeout: 15_000 }).toBe(200);
  expect(await statusOf(later), 'signed by the key that is gone').toBe(401);
  const forged = await issuer.sign({ ...claims, exp: inADay() }, { key: { ...issuer.key, kid: 'k2' } });
  expect(await statusOf(forged), 'signed by the key that is gone, as if by the new one').toBe(401);
  await bed.close();
});
