import type { PolicyDocument } from '../core/policy/document.ts';
import type { ConditionsInParts } from './placed-conditions.ts';
import type { LanguagePart } from '../core/policy/part.ts';
import { ownMember } from '../core/lib/json/own-member.ts';
import { approvals } from './approvals/manifest.ts';
import { history } from './history/manifest.ts';
import { inner } from './inner/manifest.ts';
import { lock } from './lock/manifest.ts';
import type { PartManifest } from './part-manifest.ts';

/** The parts of the policy language, in the order of their steps. */
export const languageParts: readonly PartManifest[] = [inner, history, approvals, lock];

/** Loads the parts whose keys a policy has. */
export async function partsOf(document: PolicyDocument): Promise<readonly LanguagePart[]> {
  const { tools, resources, prompts, methods, requests } = document;
  const entries = [tools, resources, prompts, methods, requests].flatMap((listed) => Object.values(listed ?? {}));
  const used = languageParts.filter(({ keys }) =>
    keys.some((key) => entries.some((entry) => ownMember(entry, key) !== undefined)),
  );
  return loaded(used);
}

/** Loads what compiles the keys of parts. */
export async function loaded(parts: readonly PartManifest[]): Promise<readonly LanguagePart[]> {
  return Promise.all(parts.flatMap(({ load }) => load?.() ?? []));
}

/** The conditions under the keys of parts. */
export const conditionsInParts: ConditionsInParts = (entry, path) =>
  languageParts.flatMap(({ conditionsIn }) => conditionsIn?.(entry, path) ?? []);
