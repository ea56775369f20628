/**
 * @module Policies as they are written, `docs/policies.md`. `npm run schemas` makes the types of
 * `schema/policy.schema.json`, which has the keys of parts too.
 */

import type { BoundDocument, ValueMapping } from '../../../schema/validators.js';
import { durationMs } from '../lib/quantity.ts';

export type {
  ActorsDocument,
  AddressedDocument,
  ConditionDocument,
  EntryDocument,
  PolicyDocument,
  ValueDocument,
} from '../../../schema/validators.js';
/** Predicates of one mapping; all of them must hold. */
export type PredicateDocument = ValueMapping;

/** Where in a document: member names and list indexes, from the top. */
export type DocumentPath = readonly (string | number)[];

/** A mistake in a policy document. */
export interface PolicyFault {
  readonly path: DocumentPath;
  /** What was found and what would be accepted. */
  readonly message: string;
}

/** A policy document that its schema accepts and that cannot be compiled all the same; carries every fault found. */
export class PolicyError extends Error {
  override readonly name = 'PolicyError';
  readonly faults: readonly PolicyFault[];

  constructor(policy: string, faults: readonly PolicyFault[]) {
    super(`policy ${policy}: ${faults.map(({ path, message }) => `${rulePath(path)}: ${message}`).join('; ')}`);
    this.faults = faults;
  }
}

/**
 * A path as it is written in logs and messages: `tools.transfer_funds.claims.role`, `any[0].scope`. A member name that
 * would make it ambiguous, or break a log line, is quoted: `tools["user.get"].scope`.
 */
export function rulePath(path: DocumentPath): string {
  let written = '';
  for (const step of path) {
    if (typeof step === 'number') written += `[${step}]`;
    else if (!/^[^\s.[\]"\p{C}]+$/u.test(step)) written += `[${JSON.stringify(step)}]`;
    else written += written === '' ? step : `.${step}`;
  }
  return written;
}

/** Milliseconds of a duration that the schema's pattern accepted; NaN for any other text, which no time is within. */
export function millisecondsOf(duration: string): number {
  return durationMs(duration) ?? Number.NaN;
}

/** A claim value that can be compared as a whole. JSON null is not one: `present` covers it. */
export type Scalar = string | number | boolean;

/**
 * In place of a constant: a claim of the caller, by name or JSON Pointer. `caller`, in `by` of an approval: a claim of
 * the caller that asks for it, where `claim` is one of the approver.
 */
export type OperandDocument = Exclude<BoundDocument, number>;

/** The entry that keys of a part belong to. */
export interface EntryContext {
  readonly key: string;
  readonly name: string;
  readonly path: DocumentPath;
  /** The operator's words for a caller that it refuses. */
  readonly because: string | undefined;
  /** Collects what cannot be compiled. */
  readonly faults: PolicyFault[];
}
