import { durationMs } from '../lib/quantity.ts';

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

/** @module The documents that `schema/policy.schema.json` accepts, as types; `tsc` compares the keys of both. */

/** A claim value that can be compared as a whole. JSON null is not one: `present` covers it. */
export type Scalar = string | number | boolean;

/**
 * In place of a constant: a claim of the caller, by name or JSON Pointer. `caller`, in `by` of an approval: a claim of
 * the caller that asks for it, where `claim` is one of the approver.
 */
export type OperandDocument = { readonly claim: string } | { readonly caller: string };

/** Predicates of one mapping; all of them must hold. */
export interface PredicateDocument {
  readonly equals?: Scalar | OperandDocument;
  /** An operand is a claim that is a list. */
  readonly one_of?: readonly Scalar[] | OperandDocument;
  /** One element of a claim that is an array. */
  readonly contains?: Scalar | OperandDocument;
  readonly below?: number | OperandDocument;
  readonly at_most?: number | OperandDocument;
  readonly above?: number | OperandDocument;
  readonly at_least?: number | OperandDocument;
  /** A path that the value is equal to or below, or its parts, which are joined by `/`. */
  readonly within?: WithinDocument;
  /** A regular expression in JavaScript's syntax with the `u` flag, unanchored. */
  readonly matches?: string;
  readonly present?: boolean;
  readonly not?: ValueDocument;
  /** Parses the claim before numbers are compared with it, also under this mapping's `not`. */
  readonly integer?: true;
}

/** The prefix of `within`. */
export type WithinDocument = string | OperandDocument | readonly (string | OperandDocument)[];

/** A condition on one value: a scalar and an operand mean `equals`, a list means `one_of`. */
export type ValueDocument = Scalar | readonly Scalar[] | OperandDocument | PredicateDocument;

/** Conditions on the parties that act for the subject: the chain of the claim `act`, RFC 8693 §4.1. */
export interface ActorsDocument {
  /** The length of the chain. */
  readonly count?: ValueDocument;
  /** `sub` of the outermost. A token without `act` has none, and fails. */
  readonly current?: ValueDocument;
  /** `sub` of each. */
  readonly each?: ValueDocument;
}

/** A policy that may be nested or belong to an entry. Every condition in it must hold. */
export interface ConditionDocument {
  /** Scope tokens (RFC 6749 §3.3), as a list or separated by single spaces; all of them. */
  readonly scope?: string | readonly string[];
  /** One of these ways of signing in, the preferred one first. */
  readonly acr?: string | readonly string[];
  /** `30s`, `5m`, `1h`; how long ago the sign-in may be. */
  readonly max_age?: string;
  /** By claim name or, beginning with `/`, by JSON Pointer (RFC 6901). */
  readonly claims?: Readonly<Record<string, ValueDocument>>;
  readonly actors?: ActorsDocument;
  readonly any?: readonly ConditionDocument[];
  readonly all?: readonly ConditionDocument[];
  readonly not?: ConditionDocument;
  /** `500ms`, `30s`, `5m`, `1h`; longest accepted `exp - iat`. */
  readonly max_lifetime?: string;
}

interface Words {
  /** One line for the client of a caller that no new token would help. */
  readonly because?: string;
}

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

/** The entry of a resource, a method or a request. Parts of the language add their keys, by declaration merging. */
export interface ListedDocument extends ConditionDocument, Words {}

/** The entry of a resource or a request. */
export interface AddressedDocument extends ListedDocument {
  /** By the name of a `{name}` in its key. */
  readonly variables?: Readonly<Record<string, ValueDocument>>;
}

/** Conditions on the caller and on the arguments of a call. */
export interface ArgumentsDocument extends ConditionDocument {
  /** By JSON Pointer into `params.arguments`. */
  readonly arguments?: Readonly<Record<string, ValueDocument>>;
}

/** The entry of a tool or a prompt. */
export interface EntryDocument extends ListedDocument, ArgumentsDocument {}

/**
 * A file `policies/NAME.yaml`, `docs/policies.md`. If a listing is present, even empty, whatever it lacks is denied.
 */
export interface PolicyDocument extends ConditionDocument, Words {
  readonly mode?: 'enforce' | 'shadow';
  /** By tool name or pattern. */
  readonly tools?: Readonly<Record<string, EntryDocument>>;
  /** By URI or pattern. */
  readonly resources?: Readonly<Record<string, AddressedDocument>>;
  /** By prompt name or pattern. */
  readonly prompts?: Readonly<Record<string, EntryDocument>>;
  /** By JSON-RPC method or pattern. */
  readonly methods?: Readonly<Record<string, ListedDocument>>;
  /** By method and path, or pattern. */
  readonly requests?: Readonly<Record<string, AddressedDocument>>;
  readonly lists?: 'filter' | 'show';
  readonly lock?: 'deny' | 'report';
  readonly calls?: 'strict';
}

interface MatchedPattern {
  readonly path: DocumentPath;
  readonly source: string;
}

/** Every `matches` of a policy, of claims, actors, arguments and variables, under any number of `not`. */
export function matchedPatterns(document: PolicyDocument, inParts: ConditionsInParts): readonly MatchedPattern[] {
  return conditionsIn(document, inParts).flatMap(({ path, condition }) =>
    (['claims', 'actors', 'arguments', 'variables'] as const).flatMap((key) =>
      inValues(condition[key] && { ...condition[key] }, [...path, key]),
    ),
  );
}

/** A condition of a policy, and its place. Only an entry has arguments and variables. */
export interface PlacedCondition {
  readonly path: DocumentPath;
  readonly condition: AnyEntryDocument;
}

type AnyEntryDocument = EntryDocument & AddressedDocument;

/** The conditions under the keys that parts of the language add to an entry. */
export type ConditionsInParts = (entry: AnyEntryDocument, path: DocumentPath) => readonly PlacedCondition[];

/** Every condition of a policy: its own, those of its entries, and those nested in them. */
export function conditionsIn(document: PolicyDocument, inParts: ConditionsInParts): readonly PlacedCondition[] {
  const found = [...withNested(document, [])];
  for (const key of ['tools', 'resources', 'prompts', 'methods', 'requests'] as const) {
    for (const [name, entry] of Object.entries<AnyEntryDocument>(document[key] ?? {})) {
      const path = [key, name];
      found.push(...withNested(entry, path), ...inParts(entry, path));
    }
  }
  return found;
}

/** A condition, and those nested in it. */
export function withNested(condition: AnyEntryDocument, path: DocumentPath): readonly PlacedCondition[] {
  const { any = [], all = [], not } = condition;
  return [
    { path, condition },
    ...any.flatMap((each, index) => withNested(each, [...path, 'any', index])),
    ...all.flatMap((each, index) => withNested(each, [...path, 'all', index])),
    ...(not === undefined ? [] : withNested(not, [...path, 'not'])),
  ];
}

function inValues(values: Readonly<Record<string, ValueDocument>> = {}, path: DocumentPath): readonly MatchedPattern[] {
  return Object.entries(values).flatMap(([name, value]) => inValue(value, [...path, name]));
}

function inValue(value: ValueDocument, path: DocumentPath): readonly MatchedPattern[] {
  // Scalars and lists have neither.
  const { matches, not } = value as PredicateDocument;
  return [
    ...(matches === undefined ? [] : [{ path: [...path, 'matches'], source: matches }]),
    ...(not === undefined ? [] : inValue(not, [...path, 'not'])),
  ];
}
