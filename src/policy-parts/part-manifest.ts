import type { DocumentPath, EntryDocument, PolicyDocument, PolicyFault } from '../core/policy/document.ts';
import type { ConditionsInParts } from './placed-conditions.ts';
import type { LanguagePart } from '../core/policy/part.ts';

/** A text of an entry that names tools or a claim. */
export interface PlacedName {
  readonly path: DocumentPath;
  readonly text: string;
  readonly of: 'tools' | 'claim';
}

/** What is known of a part of the policy language before its code is loaded. */
export interface PartManifest {
  /** Its keys of entries. Its `schema.json` has them too, and those of policies. */
  readonly keys: readonly string[];
  /** Loads what compiles them. Default: it has none. */
  readonly load?: () => Promise<LanguagePart>;
  /** Its keys of policies for MCP routes. */
  readonly ofMcp?: readonly string[];
  /** What contradicts another key of the policy. */
  readonly faultsIn?: (document: PolicyDocument) => readonly PolicyFault[];
  /** The conditions under its keys. */
  readonly conditionsIn?: ConditionsInParts;
  /** The names of tools and claims under its keys, apart from those in conditions. */
  readonly namesIn?: (entry: EntryDocument, path: DocumentPath) => readonly PlacedName[];
  /** Where it compares or counts arguments of calls. */
  readonly argumentsIn?: (entry: EntryDocument, path: DocumentPath) => readonly DocumentPath[];
  /** Where it says that a call makes other calls whose arguments it does not show. */
  readonly blindIn?: (entry: EntryDocument, path: DocumentPath) => DocumentPath | undefined;
}
