import { claimReader } from '../lib/json/pointer.ts';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import type { Principal } from '../model/principal.ts';
import { describeValue, malformedPointer } from '../lib/json/describe-value.ts';
import type { DocumentPath, PolicyFault } from './policy-error.ts';

/** Whose calls a rule over time counts together. */
export interface HistoryOwner {
  /** As the policy spells it: `subject`, `client`, `everyone`, or a claim. */
  readonly by: string;
  /** Reads the claim; undefined if `by` names none. */
  readonly claim: ReturnType<typeof claimReader>;
  /** Identifies the owner at its issuer; undefined for a caller that has none. */
  of(principal: Principal): string | undefined;
  /** What a caller without an owner has, in words. */
  found(principal: Principal): string;
}

/** The owners that are no claims. An issuer names its subjects and clients: two issuers may use one name. */
const owners: Readonly<Record<string, HistoryOwner['of']>> = {
  subject: ({ issuer, subject }) => named(issuer, subject),
  client: ({ issuer, clientId }) => named(issuer, clientId),
  everyone: () => '',
};

function named(issuer: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : lengthPrefixed([issuer, name]);
}

/** Compiles `by`. A claim of one of these names is read by its JSON Pointer: `/client`. */
export function compileOwner(by: string, path: DocumentPath, faults: PolicyFault[]): HistoryOwner {
  const known = Object.hasOwn(owners, by) ? owners[by] : undefined;
  if (known !== undefined) return { by, claim: undefined, of: known, found: () => 'none' };
  const read = claimReader(by);
  if (read === undefined) faults.push({ path, message: malformedPointer(by) });
  const claim = read ?? (() => undefined);
  return {
    by,
    claim,
    of({ issuer, claims }) {
      const value = claim(claims);
      return isOwnerName(value) ? named(issuer, JSON.stringify(value)) : undefined;
    },
    found: ({ claims }) => describeValue(claim(claims)),
  };
}

/** Whether a value names one owner. JSON.parse rounds larger integers, so that two owners would become one. */
export function isOwnerName(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value);
}
