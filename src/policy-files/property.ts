import { targetKinds } from '../core/model/mcp.ts';
import type { ListedKind, TargetKind } from '../core/model/mcp-method.ts';
import { type Decision, denialIn } from '../core/model/policy.ts';
import type { PolicyReason } from '../core/model/reasons.ts';
import type { AllCondition } from '../core/policy/conditions/groups.ts';
import { compileCondition } from '../core/policy/conditions/compile-condition.ts';
import { leavesOf } from '../core/policy/conditions/condition.ts';
import type { ConditionDocument, DocumentPath, PolicyFault, ValueDocument } from '../core/policy/document.ts';
import { type ArgumentCondition, compileArguments } from '../core/policy/argument.ts';
import { type Predicate, compilePredicates, operandsIn } from '../core/policy/predicate.ts';
import { uriPattern } from '../core/policy/pattern.ts';
import { writtenRequest } from '../core/policy/requests.ts';
import { compileVariables, type VariableCondition } from '../core/policy/variable.ts';
import { requestSource, uriSource } from './key-sources.ts';

/** Whether a call has an approval that it can use. */
export type GivenApproval = 'none' | 'approved';

/** The calls that a property speaks of, by what names them. `any`, in place of a name: every name of that kind. */
type CallDocument = {
  readonly [Key in ListedKind]?: ValueDocument;
} & {
  /** By JSON Pointer into `params.arguments`. */
  readonly arguments?: Readonly<Record<string, ValueDocument>>;
  /** On the variables of a key of `requests` or `resources`. */
  readonly variables?: Readonly<Record<string, ValueDocument>>;
};

/** A property of a policy, as `schema/policy-test.schema.json` accepts it. */
export interface PropertyDocument {
  readonly name: string;
  /** The callers that it speaks of. */
  readonly for_all: ConditionDocument & { readonly approval?: GivenApproval };
  readonly when: 'any' | CallDocument;
  readonly then: Expectation;
}

/** The expectation of a property of each decision. */
export type Expectation =
  | 'allow'
  | 'deny'
  | { readonly deny: PolicyReason | readonly PolicyReason[]; readonly challenge?: string };

/** A compiled property. */
export interface Property {
  readonly name: string;
  /** Met by the callers that it speaks of. */
  readonly callers: AllCondition;
  /** Undefined: with an approval and without one. */
  readonly approval: GivenApproval | undefined;
  readonly calls: CallPattern;
  readonly wanted: Expectation;
}

/** Calls that a property speaks of. */
export type CallPattern = { readonly kind: 'any' } | HttpPattern | McpPattern;

/** Requests on an HTTP route that a property speaks of. */
export interface HttpPattern {
  readonly kind: 'http';
  /** Undefined: those whose policy lists no requests. */
  readonly request: readonly Predicate[] | undefined;
  readonly variables: readonly VariableCondition[];
}

/** MCP messages that a property speaks of. */
export interface McpPattern {
  readonly kind: 'mcp';
  readonly target: { readonly kind: TargetKind; readonly name: readonly Predicate[] } | undefined;
  /** Undefined: the method that a client calls such a target with. */
  readonly method: readonly Predicate[] | undefined;
  readonly arguments: readonly ArgumentCondition[];
  readonly variables: readonly VariableCondition[];
}

/**
 * Compiles a property. Its conditions are those of the policy language, but read literally: `not` describes exactly the
 * callers that the condition under it does not describe. Appends to `faults` what cannot be compiled.
 */
export function compileProperty(
  { name, for_all, when, then }: PropertyDocument,
  path: DocumentPath,
  faults: PolicyFault[],
): Property {
  const { approval, ...conditions } = for_all;
  const at = [...path, 'for_all'];
  const callers = compileCondition(conditions, at, faults, 'literal');
  const claims = leavesOf(callers).flatMap(({ reads }) => reads.claims);
  requireConstants(
    claims.flatMap(({ predicates }) => predicates),
    at,
    faults,
  );
  return { name, callers, approval, calls: compileCalls(when, [...path, 'when'], faults), wanted: then };
}

/** Reports predicates that compare with a claim, where they describe names or callers. */
function requireConstants(predicates: readonly Predicate[], path: DocumentPath, faults: PolicyFault[]): void {
  const [claim] = operandsIn(predicates);
  if (claim === undefined) return;
  const message = `compares with claim ${claim.name}; write a constant: arguments and variables may name claims`;
  faults.push({ path, message });
}

function compileCalls(when: PropertyDocument['when'], path: DocumentPath, faults: PolicyFault[]): CallPattern {
  if (when === 'any') return { kind: 'any' };
  const variables = compiledVariables(when, path, faults);
  const names = (key: ListedKind, wanted: ValueDocument): readonly Predicate[] => {
    if (when.variables !== undefined && typeof wanted === 'string') return [coveredBy(key, wanted)];
    const predicates = wanted === 'any' ? [] : compilePredicates(wanted, [...path, key], faults, 'literal');
    requireConstants(predicates, [...path, key], faults);
    return predicates;
  };
  const [target] = targetKinds.flatMap((kind) => {
    const wanted = when[kind];
    return wanted === undefined ? [] : [{ kind, name: names(kind, wanted) }];
  });
  if (when.request !== undefined) return { kind: 'http', request: names('request', when.request), variables };
  const method = when.method === undefined ? undefined : names('method', when.method);
  if (target === undefined && method === undefined) return { kind: 'http', request: undefined, variables };
  const inArguments = compileArguments(when.arguments ?? {}, path, faults, 'literal');
  return { kind: 'mcp', target, method, arguments: inArguments, variables };
}

/** Conditions on the variables of the one key that the calls are described by. */
function compiledVariables(
  { variables, request, resource }: CallDocument,
  path: DocumentPath,
  faults: PolicyFault[],
): readonly VariableCondition[] {
  if (variables === undefined) return [];
  const entry = request ?? resource;
  if (typeof entry !== 'string') {
    const message = "needs one key of the policy beside it: { request: 'GET /users/{id}' }, or resource";
    faults.push({ path: [...path, 'variables'], message });
    return [];
  }
  const key = request === undefined ? 'resources' : 'requests';
  return compileVariables(variables, { key, entry, path, faults }, 'literal');
}

/** Holds for names that a key covers. */
function coveredBy(kind: ListedKind, key: string): Predicate {
  const covers = kind === 'request' ? writtenRequest([key]) : uriPattern(key).matches;
  return {
    wanted: '',
    operand: { kind: 'pattern', source: kind === 'request' ? requestSource(key) : uriSource(key) },
    test: (name) => typeof name === 'string' && Boolean(covers(name)),
  };
}

/** Whether a decision is one that a property wants. In shadow mode the decision that would be enforced counts. */
export function isExpected(decision: Decision, wanted: Expectation): boolean {
  const denial = denialIn(decision);
  if (denial === undefined || typeof wanted === 'string') return (denial === undefined) === (wanted === 'allow');
  if (!expectedReasons(wanted).includes(denial.reason)) return false;
  return wanted.challenge === undefined || wanted.challenge === denial.scope.join(' ');
}

/** The reasons of `{ deny: … }`. */
export function expectedReasons({ deny }: Exclude<Expectation, string>): readonly PolicyReason[] {
  return typeof deny === 'string' ? [deny] : deny;
}
