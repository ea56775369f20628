import type { PolicyFault } from './document.ts';
import type { Entry } from './entry.ts';
import type { EntryCompiler } from './entry-part.ts';
import type { Listing } from './listing.ts';
import type { PartStep } from './step.ts';
import type { Attempt } from '../model/policy.ts';

/** What a part makes of calls of one kind. */
export interface PlanPart {
  /** In the order in which they are tried, after those of the language and of earlier parts. */
  readonly steps: readonly PartStep[];
  /** The arguments that it reads of a call: keys from the top of them. An empty path: all of them. */
  argumentsRead(attempt: Attempt): readonly (readonly string[])[];
}

/** Calls that a policy decides by the same entries, as a part sees them. */
interface PlannedCalls {
  /** Without those that the calls only name, as a completion does. */
  readonly entries: readonly Entry[];
  /** Whether such a call passes, whatever the steps say. */
  readonly isShadow: boolean;
  /** What a proof knows of such calls; undefined: nothing. See `CallKind.known`. */
  readonly known: unknown;
}

/** A part of the language. It is opened for each policy that has it. */
export interface LanguagePart<OfPolicy extends object = object> extends EntryCompiler {
  /** Appends to `faults` what contradicts the listing. @returns undefined if no entry has one of its keys. */
  open(listing: Listing, isShadow: boolean, faults: PolicyFault[]): OfPolicy | undefined;
  plan(policy: OfPolicy, calls: PlannedCalls): PlanPart;
}

/** A part of one policy. */
export interface OpenPart {
  readonly part: LanguagePart;
  readonly of: object;
}
