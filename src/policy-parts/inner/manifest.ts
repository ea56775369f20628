import type { PartManifest } from '../part-manifest.ts';

/** Tools that call other tools. */
export const inner: PartManifest = {
  keys: ['inner'],
  load: async () => (await import('./part.ts')).innerPart,
  blindIn: ({ inner: wrapper }, path) =>
    wrapper !== undefined && wrapper.arguments === undefined ? [...path, 'inner'] : undefined,
};
