/**
 * @module Approvals, `docs/approvals.md`: which calls need one, and whose. Whether a call has one is not known here.
 */

import { canonicalJson } from '../../core/lib/json/canonical.ts';
import { parseExactly } from '../../core/lib/json/lossless.ts';
import type { NeededApproval } from './needed-approval.ts';
import type { PolicyDenial } from '../../core/model/denial.ts';
import { argumentsOf, type Attempt, type Explanation, unknownArguments } from '../../core/model/policy.ts';
import type { Claims, Principal } from '../../core/model/principal.ts';
import {
  type ArgumentCondition,
  compileArgument,
  compileArguments,
  failedPredicate,
  requireArguments,
} from '../../core/policy/argument.ts';
import { type ClaimOperand, exactClaim, memberOf } from '../../core/policy/claim.ts';
import { type Condition, isGroup, leavesOf } from '../../core/policy/conditions/condition.ts';
import type { AllCondition } from '../../core/policy/conditions/groups.ts';
import { compileCondition } from '../../core/policy/conditions/compile-condition.ts';
import { operandsIn, type Predicate } from '../../core/policy/predicate.ts';
import {
  type DocumentPath,
  type EntryContext,
  type EntryDocument,
  millisecondsOf,
  rulePath,
} from '../../core/policy/document.ts';

const wanted = 'an approval of this call';

/** `approval` of an entry. */
export interface Approval {
  /** Path in the policy file. */
  readonly rule: string;
  /** A call that meets both needs an approval. They are read cautiously: what cannot be judged meets them. */
  readonly condition: AllCondition;
  readonly arguments: readonly ArgumentCondition[];
  /** The condition on approvers. */
  readonly by: AllCondition;
  /** Path in the policy file. */
  readonly byPath: DocumentPath;
  /** The claims of the caller that `by` names. */
  readonly asks: readonly ClaimOperand[];
  /** Whether a claim restricts `by` to some people, or it is explicitly `{}`. */
  readonly namesPeople: boolean;
  readonly self: boolean;
  readonly waitMs: number;
  readonly validMs: number;
  readonly shows: readonly string[] | undefined;
  readonly because: string | undefined;
  /** What it says, as text: equal for approvals that say the same. */
  readonly text: string;
  /** The same of its whole entry. */
  readonly entryText: string;
}

/** Compiles `approval` of an entry. Appends to `faults` what cannot be compiled. */
export function compileApproval(entry: EntryDocument, context: EntryContext): Approval | undefined {
  const { approval } = entry;
  if (approval === undefined) return undefined;
  const { because, faults } = context;
  const path = [...context.path, 'approval'];
  const whenPath = [...path, 'when'];
  const byPath = [...path, 'by'];
  const { when = {}, by, self = false, wait = '1h', valid = '10m', shows } = approval;
  if (when.arguments !== undefined) requireArguments([...whenPath, 'arguments'], context);
  const condition = compileCondition(when, whenPath, faults, 'cautious');
  const conditions = compileArguments(when.arguments ?? {}, whenPath, faults, 'cautious');
  const approvers = compileCondition(by, byPath, faults);
  return {
    rule: rulePath(path),
    condition,
    arguments: conditions,
    by: approvers,
    byPath,
    asks: operandsIn(
      leavesOf(approvers).flatMap(({ reads }) => reads.claims.flatMap((claim) => claim.predicates)),
    ).filter(({ of }) => of === 'asker'),
    namesPeople: approvers.parts.length === 0 || isRestricted(approvers),
    self,
    waitMs: millisecondsOf(wait),
    validMs: millisecondsOf(valid),
    shows: shows?.map((pointer, index) => compileArgument(pointer, [...path, 'shows', index], context).pointer),
    because,
    text: canonicalJson(approval),
    entryText: canonicalJson(entry),
  };
}

/** The claims about a token, its client, or how a person signed in: they do not tell one person from another. */
const impersonal: ReadonlySet<string> = new Set(
  [
    'iss aud exp iat nbf jti sid active token_type',
    'client_id azp scope scp acr amr auth_time authenticated_ago',
  ].flatMap((names) => names.split(' ')),
);

/** Whether only people with some claim meet a condition. Under a `not`, a person whose token lacks the claim does. */
function isRestricted(condition: Condition): boolean {
  if (isGroup(condition)) {
    const { kind, parts } = condition;
    if (kind === 'not') return false;
    return kind === 'any' ? parts.every(isRestricted) : parts.some(isRestricted);
  }
  return condition.reads.claims.some(({ name }) => !impersonal.has(memberOf(name)));
}

/**
 * Whether a call needs an approval; undefined if that depends on arguments that were not recorded.
 *
 * @throws whatever a predicate throws: such a call is refused.
 */
export function needsApproval(approval: Approval, principal: Principal, call: Attempt): boolean | undefined {
  if (approval.condition.judge(principal) !== 'met') return false;
  const args = argumentsOf(call);
  if (args === unknownArguments) return approval.arguments.length === 0 || undefined;
  return approval.arguments.every((each) => failedPredicate(each, principal, call, args) === undefined);
}

/** The claims of a caller that approvals compare approvers with, as JSON; undefined if they name none. */
function askerOf(approvals: readonly Approval[], principal: Principal): string | undefined {
  const asks = approvals.flatMap((approval) => approval.asks);
  if (asks.length === 0) return undefined;
  // JSON leaves out what is absent or unreachable.
  return JSON.stringify(Object.fromEntries(asks.map(({ name, read }) => [name, exactClaim(name, read, principal)])));
}

function parsedAsker(asker: string | undefined): Claims | undefined {
  return asker === undefined ? undefined : ((parseExactly(asker) ?? JSON.parse(asker)) as Claims);
}

/** What a condition on a person can be, once the claims of the caller are known. */
interface Possibility {
  readonly canHold: boolean;
  readonly canFail: boolean;
}

/** Whether some person can meet a condition. */
function possibilityOf(condition: Condition, asker: Claims | undefined): Possibility {
  if (!isGroup(condition)) {
    return all(condition.reads.claims.flatMap(({ predicates }) => predicates.map((each) => possible(each, asker))));
  }
  const parts = condition.parts.map((part) => possibilityOf(part, asker));
  if (condition.kind === 'all') return all(parts);
  const negated = condition.kind === 'any' ? all(parts.map(not)) : all(parts);
  return not(negated);
}

/** A claim of the caller that cannot be compared is no evidence, neither for the predicate nor against it. */
function possible({ operand }: Predicate, asker: Claims | undefined): Possibility {
  if (operand.kind === 'not') return not(all(operand.excluded.map((each) => possible(each, asker))));
  const isOpen =
    operand.kind !== 'claims' ||
    operand.claims.every(({ of, valueFor }) => of !== 'asker' || operand.isUsable(valueFor({ claims: {}, asker })));
  return { canHold: isOpen, canFail: isOpen };
}

function all(parts: readonly Possibility[]): Possibility {
  return { canHold: parts.every(({ canHold }) => canHold), canFail: parts.some(({ canFail }) => canFail) };
}

function not({ canHold, canFail }: Possibility): Possibility {
  return { canHold: canFail, canFail: canHold };
}

/** Whether a person can approve a call of a caller with these claims. */
function canBeApproved({ by, asks }: Approval, asker: Claims | undefined): boolean {
  return asks.length === 0 || possibilityOf(by, asker).canHold;
}

/** The approvals of a call as one: a single person who meets the conditions of all of them decides. */
export function joinedApproval(
  approvals: readonly Approval[],
  {
    isShadow,
    isCertain = true,
    asker: principal,
  }: { readonly isShadow: boolean; readonly isCertain?: boolean; readonly asker?: Principal },
): NeededApproval | undefined {
  const [first] = approvals;
  if (first === undefined) return undefined;
  const rules = approvals.map(({ rule }) => rule);
  const asker = principal && askerOf(approvals, principal);
  const claims = parsedAsker(asker);
  const hopeless = principal && approvals.find((each) => !canBeApproved(each, claims));
  return {
    rules,
    self: approvals.every(({ self }) => self),
    waitMs: Math.min(...approvals.map(({ waitMs }) => waitMs)),
    validMs: Math.min(...approvals.map(({ validMs }) => validMs)),
    shows: shownBy(approvals),
    because: approvals.find(({ because }) => because !== undefined)?.because,
    text: canonicalJson(approvals.map((each) => [each.rule, each.text])),
    identity: canonicalJson(approvals.map(({ rule, entryText }) => [rule, entryText])),
    isCertain,
    isShadow,
    asker,
    admits(person, sealed) {
      try {
        const deciding = { ...person, asker: parsedAsker(sealed) };
        return approvals.every(({ by }) => by.judge(deciding) === 'met');
      } catch {
        return false;
      }
    },
    denial: hopeless === undefined ? denialOf(first) : hopelessDenial(hopeless),
  };
}

/** A person must see what each of the entries shows; undefined: all arguments. */
function shownBy(approvals: readonly Approval[]): readonly string[] | undefined {
  const pointers: string[] = [];
  for (const { shows } of approvals) {
    if (shows === undefined) return undefined;
    pointers.push(...shows);
  }
  return pointers;
}

function denialOf({ rule, because }: Approval): PolicyDenial {
  const base = { reason: 'approval.required', detail: `wanted ${wanted}, found none`, scope: [], rule } as const;
  return because === undefined ? base : { ...base, because };
}

function hopelessDenial(approval: Approval): PolicyDenial {
  const claims = approval.asks.map(({ name }) => name).join(', ');
  const detail = `no person can approve a call of a caller without claim ${claims}, or with one of another type`;
  return { ...denialOf(approval), reason: 'approval.denied', detail };
}

/** An approval, as far as the call alone decides it: whether there is one is `unknown`. */
export function explainApproval(approval: Approval, principal: Principal, call: Attempt): Explanation {
  const { rule } = approval;
  const asker = parsedAsker(askerOf([approval], principal));
  const words = `${wanted} ${approversOf(approval, { ...anyPerson, asker })}`;
  const base = { rule, kind: 'approval', wanted: words, parts: [] } as const;
  try {
    if (needsApproval(approval, principal, call) === false)
      return { ...base, outcome: 'holds', found: 'that this call needs none' };
    return canBeApproved(approval, asker)
      ? { ...base, outcome: 'unknown', found: 'unknown' }
      : { ...base, outcome: 'fails', found: 'a caller that no person can approve' };
  } catch {
    return { ...base, outcome: 'error', found: 'a value that cannot be judged' };
  }
}

/** The approvers, in words. */
function approversOf({ by, self }: Approval, person: Principal): string {
  const people = by.parts.length === 0 ? 'by any approver' : `by an approver with ${inWords(by, person)}`;
  return self ? `${people}, who may be the caller` : people;
}

/** What a condition wants of a person, in words. */
function inWords(condition: Condition, person: Principal): string {
  if (!isGroup(condition)) return condition.words(person).wanted;
  const { kind, parts } = condition;
  const words = parts.map((part) => inWords(part, person));
  const joined = words.join(kind === 'any' ? ' or ' : ' and ');
  if (kind === 'not') return `not (${joined})`;
  return kind === 'all' || words.length === 1 ? joined : `(${joined})`;
}

/** A person of whom nothing is known. */
const anyPerson: Principal = {
  issuer: '',
  subject: undefined,
  clientId: undefined,
  callerKey: undefined,
  grantedScopes: [],
  scopes: new Set(),
  audience: [],
  expiresAt: undefined,
  issuedAt: undefined,
  form: 'jwt',
  confirmation: undefined,
  introspectionJwt: undefined,
  claims: {},
};
