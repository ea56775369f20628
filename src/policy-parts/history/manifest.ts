import type { DocumentPath } from '../../core/policy/document.ts';
import type { PartManifest, PlacedName } from '../part-manifest.ts';
import type { AfterDocument } from '../../../schema/validators.js';

/** Rules over time. */
export const history: PartManifest = {
  keys: ['after', 'never_after', 'quota'],
  load: async () => (await import('./part.ts')).historyPart,
  namesIn: ({ after, never_after: neverAfter, quota = [] }, path) => [
    ...namesInPast(after, [...path, 'after']),
    ...namesInPast(neverAfter, [...path, 'never_after']),
    ...quota.flatMap(({ by }, index) => claimName(by, [...path, 'quota', index, 'by'])),
  ],
  argumentsIn: ({ after, never_after: neverAfter, quota = [] }, path) => [
    ...(after?.same === undefined ? [] : [[...path, 'after', 'same']]),
    ...(neverAfter?.same === undefined ? [] : [[...path, 'never_after', 'same']]),
    ...quota.flatMap(({ sum }, index) => (sum === undefined ? [] : [[...path, 'quota', index, 'sum']])),
  ],
};

function namesInPast(past: AfterDocument | undefined, path: DocumentPath): readonly PlacedName[] {
  if (past === undefined) return [];
  const { tool = [], by } = past;
  const at = [...path, 'tool'];
  const tools: readonly PlacedName[] =
    typeof tool === 'string'
      ? [{ text: tool, path: at, of: 'tools' }]
      : tool.map((text, index) => ({ text, path: [...at, index], of: 'tools' }));
  return [...tools, ...claimName(by, [...path, 'by'])];
}

function claimName(by: string | undefined, path: DocumentPath): readonly PlacedName[] {
  return by === undefined ? [] : [{ text: by, path, of: 'claim' }];
}
