import { durationMs } from '../lib/quantity.ts';
import { type Attempt, calledTool } from '../model/policy.ts';
import type { PolicyDenial } from '../model/denial.ts';
import type { ReasonBy } from '../model/reasons.ts';
import { lengthPrefixed } from '../lib/length-prefixed.ts';
import { plainName } from '../lib/look-alike.ts';
import { type PointerReader, strictPointerReader } from '../lib/json/pointer.ts';
import { type Units, unitsFor } from './amount.ts';
import { describeValue, malformedPointer } from '../lib/json/describe-value.ts';
import type { HistoryDocument, PastDocument, QuotaDocument } from './document.ts';
import { type HistoryOwner, compileOwner } from './history-owner.ts';
import { namePattern } from './pattern.ts';
import { type DocumentPath, type PolicyFault, rulePath } from './policy-error.ts';
import { requestFlaw, requestsCoveredBy } from './request-pattern.ts';

/** The kinds of rules over time: the reason of a refusal, and what it found instead of what it wanted. */
const historyKinds = {
  after: { reason: 'history.missing', found: 'none' },
  never_after: { reason: 'history.forbidden', found: 'one' },
  quota: { reason: 'quota.exceeded', found: 'more with this call' },
} as const satisfies Readonly<Record<string, { readonly reason: ReasonBy<'history'>; readonly found: string }>>;

/** A compiled rule over time. */
export type HistoryRule = PastRule | QuotaRule;

/** What all rules over time have. */
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
  readonly same: readonly ComparedArgument[];
  /** Whether it looks at such a call. */
  readonly covers: (call: Attempt) => boolean;
}

/** How much calls may use. */
export interface QuotaRule extends AnyRule {
  readonly kind: 'quota';
  /** What is summed; undefined: calls are counted. */
  readonly sum: SummedArgument | undefined;
  readonly units: Units;
}

/** An argument that both calls must have alike. */
export interface ComparedArgument {
  readonly pointer: string;
  readonly read: PointerReader;
}

/** An argument whose values are summed up. */
interface SummedArgument extends ComparedArgument {
  readonly isInteger: boolean;
  /** The most that a single call may have, as written. */
  readonly most: number;
}

/** The entry that has the rules. */
interface Surroundings {
  readonly key: string;
  readonly name: string;
  readonly path: DocumentPath;
  readonly because: string | undefined;
  /** Collects what cannot be compiled. */
  readonly faults: PolicyFault[];
}

/** Compiles the rules over time of an entry, in the order in which they are judged. */
export function compileHistory(document: HistoryDocument, entry: Surroundings): readonly HistoryRule[] {
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

function compilePast(kind: PastRule['kind'], document: PastDocument, entry: Surroundings): PastRule {
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
  const same = (document.same ?? []).map((pointer, i) => compared(pointer, [...path, 'same', i], entry));
  const windowMs = windowOf(within);
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

/** As {@link coversTool}, of requests. */
function coversRequest(names: readonly string[], kind: PastRule['kind']): PastRule['covers'] {
  const isCovered = requestsCoveredBy(names, kind === 'after' ? 'written' : 'plain');
  return (call) => call.kind === 'http' && call.request !== undefined && isCovered(call.request);
}

function matcherOf(names: readonly string[]): (name: string) => boolean {
  const exact = new Set(names);
  const patterns = names.filter((name) => name.includes('*')).map(namePattern);
  return (name) => exact.has(name) || patterns.some(({ matches }) => matches(name));
}

function compileQuota(document: QuotaDocument, path: DocumentPath, entry: Surroundings): QuotaRule {
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
  const windowMs = windowOf(per);
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
    sum: sum === undefined ? undefined : { ...compared(sum, [...path, 'sum'], entry), isInteger: integer, most: limit },
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

/** Compiles a pointer into the arguments, which only calls of tools and prompts have. */
function compared(pointer: string, path: DocumentPath, { key, faults }: Surroundings): ComparedArgument {
  const read = strictPointerReader(pointer);
  if (read === undefined) faults.push({ path, message: malformedPointer(pointer) });
  if (key !== 'tools' && key !== 'prompts') {
    faults.push({ path, message: `${key} have no arguments; only tools and prompts do` });
  }
  return { pointer, read: read ?? (() => undefined) };
}

/** A window that the schema's pattern accepted. */
function windowOf(text: string): number {
  return durationMs(text) ?? Number.NaN;
}

function byInWords(by: string): string {
  return by === 'subject' ? '' : ` by ${by}`;
}

function sameInWords(pointers: readonly string[]): string {
  return pointers.length === 0 ? '' : ` with the same ${pointers.join(', ')}`;
}
