import { withNested } from '../placed-conditions.ts';
import type { PartManifest } from '../part-manifest.ts';

/** Calls that a person approves. */
export const approvals: PartManifest = {
  keys: ['approval'],
  load: async () => (await import('./part.ts')).approvalsPart,
  conditionsIn({ approval }, path) {
    if (approval === undefined) return [];
    const { by, when } = approval;
    return [
      ...withNested(by, [...path, 'approval', 'by']),
      ...(when === undefined ? [] : withNested(when, [...path, 'approval', 'when'])),
    ];
  },
};
