import { setTimeout as wait } from 'node:timers/promises';
import { policies, savePolicy, type World } from './world.ts';

/** The number of edits during the run. */
export interface Edits {
  readonly good: number;
  readonly bad: number;
  readonly rotations: number;
}

/** Edits in turn: a policy that excludes one user, a mistake, the original policies, a new signing key. */
export async function edit({ folder, tokens }: World, everyMs: number, ending: AbortSignal): Promise<Edits> {
  let [good, bad, rotations] = [0, 0, 0];
  const steps = [
    () => {
      good += 1;
      return savePolicy(folder, 'api', JSON.stringify({ ...policies.api, claims: { sub: { not: 'bob' } } }));
    },
    () => {
      bad += 1;
      return savePolicy(folder, 'tools', '{ scope: [');
    },
    async () => {
      good += 1;
      await savePolicy(folder, 'tools', JSON.stringify(policies.tools));
      await savePolicy(folder, 'api', JSON.stringify(policies.api));
    },
    () => {
      rotations += 1;
      return tokens.rotateKeys();
    },
  ];
  for (let step = 0; ; step += 1) {
    await wait(everyMs, undefined, { signal: ending }).catch(() => undefined);
    if (ending.aborted) return { good, bad, rotations };
    await steps[step % steps.length]?.();
  }
}
