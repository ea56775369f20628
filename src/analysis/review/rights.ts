/** @module What callers used, could use and never did, as a log shows it. */

import { byCodeUnits } from './order.ts';
import { ensure } from '../../core/lib/remembered.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import type { DecisionRecord } from '../../core/model/decision.ts';
import type { Policy } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import { isPolicyReason } from './policy-reasons.ts';
import type { Route } from '../../core/model/route.ts';
import { compiledRules } from '../../core/policy/compile.ts';
import { type Condition, isGroup, type LeafCondition } from '../../core/policy/conditions/condition.ts';
import type { Entry } from '../../core/policy/entry.ts';
import { entriesFor } from '../../core/policy/listing.ts';
import { operandsIn } from '../../core/policy/predicate.ts';
import { listedKinds, mcpMethod, targetKinds } from '../../core/model/mcp.ts';
import { recordedAttempt, recordedDecision, recordedPrincipal } from './recorded-decision.ts';

/** The use of an entry by one caller. */
interface UsedEntry {
  readonly entry: string;
  readonly count: number;
  /** RFC 3339; empty where the lines have no time. */
  readonly last: string;
}

/** The rights of one caller. Entries are paths in the policy file, with the name of the policy if there are several. */
export interface CallerRights {
  readonly caller: string;
  readonly issuer: string;
  /** The latest first. */
  readonly used: readonly UsedEntry[];
  /** Never used, and open to the caller by its last claims and scopes. */
  readonly could: readonly string[];
  /** Refused, or withheld from a list. */
  readonly refused: readonly string[];
  /** They depend on claims that the log does not have of the caller. */
  readonly unknown: readonly string[];
  /** Open to the caller by the earlier policies alone. */
  readonly lost: readonly string[];
  /** Open to the caller by the present policies alone. */
  readonly gained: readonly string[];
}

/** The rights of all callers, and the entries that none of them used. */
export interface Rights {
  readonly callers: readonly CallerRights[];
  readonly unused: readonly string[];
}

/** A member of a line that names the caller: `subject` (else the client), `client`, or a claim. */
export type RightsOwner = 'subject' | 'client' | { readonly claim: string };

/** What rights are read by. */
export interface RightsParts {
  readonly routes: readonly Route[];
  readonly hierarchy: ReadonlyMap<string, readonly string[]>;
  readonly owner: RightsOwner;
  /** Policies of another time, by name; undefined: none are compared. */
  readonly earlier: ReadonlyMap<string, Policy> | undefined;
}

type Line = Readonly<Record<string, unknown>>;

interface Seen {
  readonly caller: string;
  readonly issuer: string;
  readonly used: Map<string, { count: number; last: string }>;
  readonly refused: Set<string>;
  /** The last line on each route. */
  readonly last: Map<string, { line: Line; time: string }>;
}

/** Collects the lines of logs, and says what they show of rights. */
export class RightsReader {
  readonly #parts: RightsParts;
  readonly #routes: ReadonlyMap<unknown, Route>;
  readonly #hasPolicies: boolean;
  /** By issuer, then by caller. */
  readonly #seen = new Map<string, Map<string, Seen>>();
  /** The callers of lists, by the id of the decision: the line about what was withheld follows. */
  readonly #lists = new Map<unknown, Seen>();
  readonly #entries = new Map<Route, ReadonlyMap<string, Entry>>();
  readonly #entryOfRule = new Map<Route, Map<string, string | undefined>>();
  #decisions = 0;

  constructor(parts: RightsParts) {
    this.#parts = parts;
    this.#routes = new Map(parts.routes.map((route) => [route.name, route]));
    this.#hasPolicies = new Set(parts.routes.flatMap(({ policy }) => policy?.name ?? [])).size > 1;
    for (const route of parts.routes)
      this.#entries.set(route, new Map(entriesOf(route.policy).map((entry) => [entry.rule, entry])));
  }

  /** The decisions that were read. */
  get decisions(): number {
    return this.#decisions;
  }

  /** Takes a line of a log. Lines of other routes, and those without a caller, say nothing. */
  take(line: Line): void {
    const route = this.#routes.get(line['route']);
    if (route === undefined) return;
    if (line['msg'] === 'list') return this.#takeList(line, route);
    if (line['msg'] !== 'decision') return;
    this.#decisions += 1;
    const { issuer, allow, time: logged } = line;
    const caller = this.#callerOf(line);
    if (typeof issuer !== 'string' || caller === undefined || typeof allow !== 'boolean') return;
    const seen = ensure(ensure(this.#seen, issuer, newCallers), caller, () => newSeen(caller, issuer));
    const time = typeof logged === 'string' ? logged : '';
    const last = seen.last.get(route.name);
    if (last === undefined) seen.last.set(route.name, { line, time });
    else if (time >= last.time) Object.assign(last, { line, time });
    if (typeof line['method'] === 'string' && line['method'].endsWith('/list')) this.#lists.set(line['decision'], seen);
    if (!allow && !isOfRights(line['reason'])) return;
    const entry = this.#entryOf(line, route);
    if (!allow) return void (entry !== undefined && seen.refused.add(this.#named(route, entry)));
    for (const each of [entry, ...this.#innerEntriesOf(line, route)]) {
      if (each === undefined) continue;
      const used = ensure(seen.used, this.#named(route, each), () => ({ count: 0, last: '' }));
      used.count += 1;
      if (time > used.last) used.last = time;
    }
  }

  /** The entries of the tools that a call called. */
  #innerEntriesOf({ inner }: Line, { policy }: Route): readonly (string | undefined)[] {
    if (!Array.isArray(inner) || policy === undefined) return [];
    const { listing } = compiledRules(policy);
    return (inner as readonly unknown[]).map((name) =>
      typeof name === 'string' ? listing?.tool?.(name)?.rule : undefined,
    );
  }

  /** What the lines show. */
  rights(): Rights {
    const callers: CallerRights[] = [];
    for (const ofIssuer of this.#seen.values())
      for (const seen of ofIssuer.values()) callers.push(this.#rightsOf(seen));
    const used = new Set(callers.flatMap((caller) => caller.used.map(({ entry }) => entry)));
    const all = this.#parts.routes.flatMap((route) =>
      [...(this.#entries.get(route)?.keys() ?? [])].map((entry) => this.#named(route, entry)),
    );
    return {
      callers: callers.toSorted(
        (one, other) => byCodeUnits(one.issuer, other.issuer) || byCodeUnits(one.caller, other.caller),
      ),
      unused: [...new Set(all)].filter((entry) => !used.has(entry)),
    };
  }

  #callerOf(line: Line): string | undefined {
    const { owner } = this.#parts;
    const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
    if (owner === 'subject') return text(line['subject']) ?? text(line['client_id']);
    if (owner === 'client') return text(line['client_id']);
    const value = claimsIn(line)[owner.claim];
    return value === undefined ? undefined : (text(value) ?? JSON.stringify(value));
  }

  #takeList(line: Line, route: Route): void {
    const seen = this.#lists.get(line['decision']);
    const { withheld, method } = line;
    if (seen === undefined || !Array.isArray(withheld) || route.policy === undefined) return;
    const { listing } = compiledRules(route.policy);
    const list = typeof method === 'string' ? mcpMethod(method).list : undefined;
    const kind = targetKinds.find((each) => each === list?.kind);
    for (const name of withheld as readonly unknown[]) {
      const entry = kind === undefined || typeof name !== 'string' ? undefined : listing?.[kind]?.(name);
      if (entry !== undefined) seen.refused.add(this.#named(route, entry.rule));
    }
  }

  /** The entry that decided: that of the rule, or of the call where the policy itself, or another stage, refused it. */
  #entryOf(line: Line, route: Route): string | undefined {
    const { rule } = line;
    const known = ensure(this.#entryOfRule, route, () => new Map<string, string | undefined>());
    if (typeof rule === 'string') {
      if (!known.has(rule)) known.set(rule, this.#entryAround(rule, route));
      const entry = known.get(rule);
      if (entry !== undefined) return entry;
      if (line['allow'] === true) return undefined;
    }
    const { listing } = route.policy === undefined ? {} : compiledRules(route.policy);
    const record = listing && recordedDecision(line);
    if (listing === undefined || record === undefined) return undefined;
    const entries = entriesFor(listing, recordedAttempt(record, route));
    return 'reason' in entries ? undefined : entries[0]?.rule;
  }

  /** The entry that a rule belongs to; one that the policy no longer has is named as the log has it. */
  #entryAround(rule: string, route: Route): string | undefined {
    const entries = this.#entries.get(route);
    for (let end = rule.length; end > 0; end = Math.max(rule.lastIndexOf('.', end - 1), rule.lastIndexOf('[', end - 1)))
      if (entries?.has(rule.slice(0, end)) === true) return rule.slice(0, end);
    return /^(?:tools|resources|prompts|methods|requests)[.[]/.test(rule) ? rule : undefined;
  }

  #named({ policy }: Route, rule: string): string {
    return this.#hasPolicies && policy !== undefined ? `${policy.name}: ${rule}` : rule;
  }

  #rightsOf(seen: Seen): CallerRights {
    const { caller, issuer, used, refused, last } = seen;
    const could: string[] = [];
    const unknown: string[] = [];
    const lost: string[] = [];
    const gained: string[] = [];
    for (const [name, { line }] of last) {
      const route = this.#routes.get(name);
      const record = recordedDecision(line);
      if (route?.policy === undefined || record === undefined) continue;
      const { policy } = route;
      const now = this.#possible(record, policy);
      for (const [rule, possibility] of now) {
        const entry = this.#named(route, rule);
        if (used.has(entry)) continue;
        if (possibility === 'yes') could.push(entry);
        if (possibility === 'unknown') unknown.push(entry);
      }
      const earlier = this.#parts.earlier?.get(policy.name);
      if (earlier === undefined) continue;
      const before = this.#possible(record, earlier);
      for (const rule of new Set([...before.keys(), ...now.keys()])) {
        const [was = 'no', is = 'no'] = [before.get(rule), now.get(rule)];
        if (was === 'yes' && is === 'no') lost.push(this.#named(route, rule));
        if (was === 'no' && is === 'yes') gained.push(this.#named(route, rule));
      }
    }
    const byTime = [...used].map(([entry, { count, last: at }]) => ({ entry, count, last: at }));
    return {
      caller,
      issuer,
      used: byTime.toSorted((one, other) => byCodeUnits(other.last, one.last)),
      could: [...new Set(could)],
      refused: [...refused],
      unknown: [...new Set(unknown)],
      lost: [...new Set(lost)],
      gained: [...new Set(gained)],
    };
  }

  /** The entries that the caller of a record may use, as far as arguments, time and approvals do not decide. */
  #possible(record: DecisionRecord, policy: Policy): ReadonlyMap<string, Possibility> {
    const { condition, listing, mode } = compiledRules(policy);
    const claims = knownClaims(record);
    const asked = new Known(record, policy, claims);
    const principal = recordedPrincipal({ ...record, input: { ...record.input, claims } }, this.#parts.hierarchy);
    const own = possibilityOf(condition, principal, asked);
    return new Map(
      (listing?.entries ?? []).map((entry) => {
        const kind = targetKinds.find((each) => listedKinds[each].key === entry.key);
        const method = kind && listing?.method?.(listedKinds[kind].usedBy);
        const parts = [
          own,
          ...[entry, ...(method ? [method] : [])].map((each) => possibilityOf(each.condition, principal, asked)),
        ];
        return [entry.rule, mode === 'shadow' ? 'yes' : answerOf(allOf(parts))];
      }),
    );
  }
}

type Possibility = 'yes' | 'no' | 'unknown';

/** Whether conditions can hold and can fail: surely, and if unknown claims are as they need them. */
interface Possible {
  readonly canHold: boolean;
  readonly mayHold: boolean;
  readonly canFail: boolean;
  readonly mayFail: boolean;
}

const open: Possible = { canHold: true, mayHold: true, canFail: true, mayFail: true };
const unknowable: Possible = { canHold: false, mayHold: true, canFail: false, mayFail: true };

function possibilityOf(condition: Condition, principal: Principal, known: Known): Possible {
  if (!isGroup(condition)) {
    if (isOfTime(condition)) return open;
    if (!known.hasAll(condition)) return unknowable;
    const holds = judged(condition, principal);
    return { canHold: holds, mayHold: holds, canFail: !holds, mayFail: !holds };
  }
  const parts = condition.parts.map((part) => possibilityOf(part, principal, known));
  if (condition.kind === 'all') return allOf(parts);
  return condition.kind === 'any' ? opposite(allOf(parts.map(opposite))) : opposite(allOf(parts));
}

/** A value that cannot be tested denies. */
function judged(condition: LeafCondition, principal: Principal): boolean {
  try {
    return condition.judge(principal) === 'met';
  } catch {
    return false;
  }
}

function allOf(parts: readonly Possible[]): Possible {
  return {
    canHold: parts.every(({ canHold }) => canHold),
    mayHold: parts.every(({ mayHold }) => mayHold),
    canFail: parts.some(({ canFail }) => canFail),
    mayFail: parts.some(({ mayFail }) => mayFail),
  };
}

function opposite({ canHold, mayHold, canFail, mayFail }: Possible): Possible {
  return { canHold: canFail, mayHold: mayFail, canFail: canHold, mayFail: mayHold };
}

function answerOf({ canHold, mayHold }: Possible): Possibility {
  if (canHold) return 'yes';
  return mayHold ? 'unknown' : 'no';
}

/** The age of a sign-in and the life of a token are others for the next call. */
function isOfTime({ kind, reads }: LeafCondition): boolean {
  return kind === 'lifetime' || reads.claims.some(({ name }) => name === 'authenticated_ago');
}

/** The claims that a log has of a caller. */
class Known {
  readonly #names: ReadonlySet<string>;
  readonly #omitted: readonly string[];
  /** The policy that decided has read all that it reads: what the line lacks, the token lacked. */
  readonly #isComplete: boolean;

  constructor({ policy: revision, input: { omitted = [] } }: DecisionRecord, policy: Policy, claims: object) {
    this.#names = new Set(Object.keys(claims));
    this.#omitted = omitted;
    this.#isComplete = revision === policy.revision;
  }

  hasAll({ reads }: LeafCondition): boolean {
    const predicates = reads.claims.flatMap((claim) => claim.predicates);
    const names = [
      ...reads.claims.map(({ name }) => name),
      ...operandsIn([...predicates, ...(reads.actors?.predicates ?? [])]).map(({ name }) => name),
    ];
    return names.every((name) => !this.#omitted.includes(name) && (this.#isComplete || this.#names.has(name)));
  }
}

/** The claims that the policy read, and those of `log.claims` that a line has whole. */
function knownClaims({ input, claims }: DecisionRecord): Record<string, unknown> {
  const whole = Object.entries(claims ?? {}).filter(([, value]) => typeof value !== 'string' || isWhole(value));
  return { ...Object.fromEntries(whole), ...input.claims };
}

/** `log.claims` cuts texts, and writes lists and objects as texts. */
function isWhole(text: string): boolean {
  return text.length < 256 && !/^[[{]/.test(text);
}

function claimsIn({ input, claims }: Line): Readonly<Record<string, unknown>> {
  const read = isObject(input) ? input['claims'] : undefined;
  return { ...(isObject(read) ? read : {}), ...(isObject(claims) ? claims : {}) };
}

/** Whether a refusal says something of rights: a rate, a token or an outage does not. */
function isOfRights(reason: unknown): boolean {
  return typeof reason === 'string' && (isPolicyReason(reason) || /^(?:tool|prompt|decision_point)\./.test(reason));
}

function newCallers(): Map<string, Seen> {
  return new Map();
}

function newSeen(caller: string, issuer: string): Seen {
  return { caller, issuer, used: new Map(), refused: new Set(), last: new Map() };
}

function entriesOf(policy: Policy | undefined): readonly Entry[] {
  return policy === undefined ? [] : (compiledRules(policy).listing?.entries ?? []);
}
