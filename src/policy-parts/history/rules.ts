import { type Attempt, calledTool } from '../../core/model/policy.ts';
import type { PolicyDenial } from '../../core/model/denial.ts';
import type { ReasonBy } from '../../core/model/reasons.ts';
import { lengthPrefixed } from '../../core/lib/digest.ts';
import { plainName } from '../../core/lib/look-alike.ts';
import type { MemberReader } from '../../core/lib/json/pointer.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { type CallArgument, compileArgument } from '../../core/policy/argument.ts';
import { compileClaim } from '../../core/policy/claim.ts';
import {
  type DocumentPath,
  type EntryContext,
  type EntryDocument,
  millisecondsOf,
  type PolicyFault,
  rulePath,
} from '../../core/policy/document.ts';
import type { AfterDocument, LimitDocument } from '../../../schema/validators.js';
import { namePattern } from '../../core/policy/pattern.ts';
import { requestFlaw, requestsCoveredBy } from '../../core/policy/requests.ts';
import type { Principal } from '../../core/model/principal.ts';
import { actorKey } from '../../core/model/caller-key.ts';

/** The kinds of rules over time: the reason of a refusal, and what it found instead of what it wanted. */
const historyKinds = {
  after: { reason: 'history.missing', found: 'none' },
  never_after: { reason: 'history.forbidden', found: 'one' },
  quota: { reason: 'quota.exceeded', found: 'more with this call' },
} as const satisfies Readonly<Record<string, { readonly reason: ReasonBy<'history'>; readonly found: string }>>;

/** A compiled rule over time. */
export type HistoryRule = PastRule | QuotaRule;

interface AnyRule {
  /** Path in the policy file. */
  readonly rule: string;
  readonly owner: HistoryOwner;
  readonly windowMs: number;
  /** Names what is counted. It stays the same over reloads, and when only a limit changes, so that history does too. */
  readonly identity: string;
  /** What must hold, in words. */
  readonly wanted: string;
  /** The operator's words for a caller that it refuses. */
  readonly because: string | undefined;
  /** The refusal of a call that does not meet it. Another token would not help. */
  readonly denial: PolicyDenial;
}

/** Other calls that must, or must not, have come before. */
export interface PastRule extends AnyRule {
  readonly kind: 'after' | 'never_after';
  /** What such calls are named by. */
  readonly target: 'tool' | 'request';
  /** As written: names and patterns. */
  readonly names: readonly string[];
  /** The arguments that both calls must have alike. */
  readonly same: readonly CallArgument[];
  /** Whether it looks at such a call. */
  readonly covers: (call: Attempt) => boolean;
}

/** The amount that calls may use. */
export interface QuotaRule extends AnyRule {
  readonly kind: 'quota';
  /** What is summed; undefined: calls are counted. */
  readonly sum: SummedArgument | undefined;
  readonly units: Units;
}

interface SummedArgument extends CallArgument {
  readonly isInteger: boolean;
  /** The most that a single call may have, as written. */
  readonly most: number;
}

/** The arguments that a rule reads of a call that it counts. */
export function readBy(rule: HistoryRule): readonly CallArgument[] {
  if (rule.kind !== 'quota') return rule.same;
  return rule.sum === undefined ? [] : [rule.sum];
}

/** Compiles the rules over time of an entry, in the order in which they are judged. */
export function compileHistory(document: EntryDocument, entry: EntryContext): readonly HistoryRule[] {
  const { after, never_after: neverAfter, quota = [] } = document;
  const rules: HistoryRule[] = [];
  if (neverAfter !== undefined) rules.push(compilePast('never_after', neverAfter, entry));
  if (after !== undefined) rules.push(compilePast('after', after, entry));
  const first = new Map<string, number>();
  for (const [index, each] of quota.entries()) {
    const rule = compileQuota(each, [...entry.path, 'quota', index], entry);
    const twin = first.get(rule.identity);
    if (twin === undefined) first.set(rule.identity, index);
    else entry.faults.push({ path: [...entry.path, 'quota', index], message: `counts the same as quota[${twin}]` });
    rules.push(rule);
  }
  return rules;
}

function compilePast(kind: PastRule['kind'], document: AfterDocument, entry: EntryContext): PastRule {
  const path = [...entry.path, kind];
  const { within, by = 'subject', tool, request } = document;
  const target = request === undefined ? 'tool' : 'request';
  const written = request ?? tool ?? [];
  const names = typeof written === 'string' ? [written] : written;
  if ((tool === undefined) === (request === undefined)) {
    entry.faults.push({ path, message: 'needs either tool or request' });
  }
  for (const name of target === 'request' ? names : []) {
    const flaw = requestFlaw(name, 'patterns');
    if (flaw !== undefined)
      entry.faults.push({ path: [...path, 'request'], message: `${describeValue(name)} ${flaw}` });
  }
  const same = (document.same ?? []).map((pointer, i) => compileArgument(pointer, [...path, 'same', i], entry));
  const windowMs = millisecondsOf(within);
  const pointers = same.map(({ pointer }) => pointer);
  const sorted = names.toSorted();
  const which = `${names.join(', ')} within ${within}${byInWords(by)}${sameInWords(pointers)}`;
  const rule = rulePath(path);
  const wanted = kind === 'after' ? `an answered call of ${which}` : `no call of ${which}`;
  return {
    kind,
    rule,
    owner: compileOwner(by, [...path, 'by'], entry.faults),
    windowMs,
    identity: lengthPrefixed([kind, by, String(windowMs), String(sorted.length), ...sorted, ...pointers]),
    wanted,
    because: entry.because,
    denial: denialBy(kind, { rule, wanted, because: entry.because }),
    target,
    names,
    same,
    covers: target === 'tool' ? coversTool(names, kind) : coversRequest(names, kind),
  };
}

/**
 * Whether names or patterns cover a call. What forbids a later call also covers names that a lenient server reads as
 * one of them: `Read_Secret` must not hide a `read_secret`. What permits one covers only its own spelling.
 */
function coversTool(names: readonly string[], kind: PastRule['kind']): PastRule['covers'] {
  const exactly = matcherOf(names);
  const leniently = kind === 'after' ? undefined : matcherOf(names.map(plainName));
  return (call) => {
    const tool = calledTool(call);
    return tool !== undefined && (exactly(tool) || leniently?.(plainName(tool)) === true);
  };
}

/** {@link coversTool} for requests. */
function coversRequest(names: readonly string[], kind: PastRule['kind']): PastRule['covers'] {
  const isCovered = requestsCoveredBy(names, kind === 'after' ? 'written' : 'plain');
  return (call) => call.kind === 'http' && call.request !== undefined && isCovered(call.request);
}

function matcherOf(names: readonly string[]): (name: string) => boolean {
  const exact = new Set(names);
  const patterns = names.filter((name) => name.includes('*')).map(namePattern);
  return (name) => exact.has(name) || patterns.some(({ matches }) => matches(name));
}

function compileQuota(document: LimitDocument, path: DocumentPath, entry: EntryContext): QuotaRule {
  const { count, sum, at_most: most, integer = false, per, by = 'subject' } = document;
  const { faults, key, name } = entry;
  if ((count === undefined) === (sum === undefined)) {
    faults.push({ path, message: 'needs either count, or sum with at_most' });
  } else if ((sum === undefined) !== (most === undefined)) {
    faults.push({ path, message: sum === undefined ? 'at_most needs sum' : 'sum needs at_most' });
  } else if (integer && sum === undefined) {
    faults.push({ path: [...path, 'integer'], message: 'needs sum' });
  }
  const limit = count ?? most ?? 0;
  const isInteger = integer || sum === undefined;
  const units = unitsFor(limit, isInteger);
  if (units === undefined) {
    const accepted = isInteger
      ? 'an integer below 4.5 * 10^15'
      : 'a number below 4.5 * 10^15 with at most 6 decimal places';
    const message = `${limit} cannot be summed exactly; write ${accepted}`;
    faults.push({ path: [...path, count === undefined ? 'at_most' : 'count'], message });
  }
  const windowMs = millisecondsOf(per);
  const what = sum === undefined ? `at most ${limit} calls` : `a sum of ${sum} of at most ${limit}`;
  const rule = rulePath(path);
  const wanted = `${what} per ${per}${byInWords(by)}`;
  return {
    kind: 'quota',
    rule,
    owner: compileOwner(by, [...path, 'by'], faults),
    windowMs,
    identity: lengthPrefixed([key, name, by, String(windowMs), String(sum), String(units?.decimals)]),
    wanted,
    because: entry.because,
    denial: denialBy('quota', { rule, wanted, because: entry.because }),
    sum: sum === undefined ? undefined : { ...compileArgument(sum, [...path, 'sum'], entry), isInteger, most: limit },
    // Undefined only beside a fault, with which no policy is made.
    units: units as Units,
  };
}

function denialBy(
  kind: HistoryRule['kind'],
  { rule, wanted, because }: Pick<HistoryRule, 'rule' | 'wanted' | 'because'>,
): PolicyDenial {
  const { reason, found } = historyKinds[kind];
  const words = because === undefined ? {} : { because };
  return { reason, rule, detail: `wanted ${wanted}, found ${found}`, scope: [], ...words };
}

function byInWords(by: string): string {
  return by === 'subject' ? '' : ` by ${by}`;
}

function sameInWords(pointers: readonly string[]): string {
  return pointers.length === 0 ? '' : ` with the same ${pointers.join(', ')}`;
}

interface HistoryOwner {
  /** As the policy spells it: `subject`, `client`, `actor`, `everyone`, or a claim. */
  readonly by: string;
  /** Reads the claim; undefined if `by` names none. */
  readonly claim: MemberReader | undefined;
  /** Identifies the owner at its issuer; undefined for a caller that has none. */
  of(principal: Principal): string | undefined;
  /** What a caller without an owner has, in words. */
  found(principal: Principal): string;
}

/** The owners that are no claims. An issuer names its subjects and clients: two issuers may use one name. */
const owners: Readonly<Record<string, HistoryOwner['of']>> = {
  subject: ({ issuer, subject }) => named(issuer, subject),
  client: ({ issuer, clientId }) => named(issuer, clientId),
  actor: actorKey,
  everyone: () => '',
};

function named(issuer: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : lengthPrefixed([issuer, name]);
}

/** Compiles `by`. A claim of one of these names is read by its JSON Pointer: `/actor`. */
export function compileOwner(by: string, path: DocumentPath, faults: PolicyFault[]): HistoryOwner {
  const known = Object.hasOwn(owners, by) ? owners[by] : undefined;
  if (known !== undefined) return { by, claim: undefined, of: known, found: () => 'none' };
  const claim = compileClaim(by, path, faults);
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

/** Sums stay below this number of units, so that they are exact in doubles, also beside one more amount. */
const MAX_UNITS = 4_500_000_000_000_000;
const MAX_DECIMALS = 6;

/** Counts amounts in whole units, a power of ten each, so that sums are exact: three times 0.1 is not above 0.3. */
interface Units {
  /** The most that calls may sum up to. */
  readonly limit: number;
  /** The decimal places of a unit. */
  readonly decimals: number;
  /** An amount that {@link amountOf} accepted; rounded up to a unit. */
  of(amount: number): number;
}

/**
 * The units for sums of at most `most`.
 *
 * @param isInteger Whether amounts are integers.
 * @returns undefined for a limit that is not a multiple of a unit, or too large for exact sums.
 */
export function unitsFor(most: number, isInteger: boolean): Units | undefined {
  let decimals = isInteger ? 0 : MAX_DECIMALS;
  while (scaled(most, decimals) >= MAX_UNITS) decimals -= 1;
  const limit = scaled(most, decimals);
  if (decimals < 0 || !Number.isInteger(limit)) return undefined;
  return { limit, decimals, of: (amount) => Math.ceil(scaled(amount, decimals)) };
}

/** Shifts the decimal point of the shortest text of a number: to multiply 0.07 by 100 would give more than 7. */
function scaled(number: number, decimals: number): number {
  const [digits, exponent = 0] = String(number).split('e');
  return Number(`${digits}e${Number(exponent) + decimals}`);
}

/**
 * The amount of an argument: a finite, non-negative JSON number, or, for integers, also a string of decimal digits.
 *
 * @returns undefined for anything else, which an upstream may read in another way.
 */
export function amountOf(value: unknown, isInteger: boolean): number | undefined {
  const number = isInteger && typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !(number >= 0 && number < Infinity)) return undefined;
  return isInteger && !Number.isSafeInteger(number) ? undefined : number;
}
