/**
 * @module The parts of the policy language, in the order of their steps. A policy loads the code of those whose keys it
 * has.
 */

import { type ConditionsInParts, type PolicyDocument, withNested } from '../core/policy/document.ts';
import type { LanguagePart } from '../core/policy/part.ts';
import type { ApprovalDocument } from './approvals/document.ts';
import { ownMember } from '../core/lib/json/own-member.ts';

interface PartRow {
  readonly keys: readonly string[];
  readonly load: () => Promise<LanguagePart>;
}

const rows: readonly PartRow[] = [
  { keys: ['inner'], load: async () => (await import('./inner/part.ts')).innerPart },
  {
    keys: ['after', 'never_after', 'quota'],
    load: async () => (await import('./history/part.ts')).historyPart,
  },
  { keys: ['approval'], load: async () => (await import('./approvals/part.ts')).approvalsPart },
];

/** Loads the parts whose keys a policy has. */
export async function partsOf(document: PolicyDocument): Promise<readonly LanguagePart[]> {
  const { tools, resources, prompts, methods, requests } = document;
  const entries = [tools, resources, prompts, methods, requests].flatMap((listed) => Object.values(listed ?? {}));
  const used = rows.filter(({ keys }) =>
    keys.some((key) => entries.some((entry) => ownMember(entry, key) !== undefined)),
  );
  return Promise.all(used.map(({ load }) => load()));
}

/** The conditions of approvals: on the call, and on the person. */
export const conditionsInParts: ConditionsInParts = ({ approval }, path) => {
  if (approval === undefined) return [];
  const { by, when }: ApprovalDocument = approval;
  return [
    ...withNested(by, [...path, 'approval', 'by']),
    ...(when === undefined ? [] : withNested(when, [...path, 'approval', 'when'])),
  ];
};
