import { Undecidable } from './text-automaton.ts';

/** What callers and calls differ in: a scope, a lifetime, the value at one place. It has one of a few classes. */
export interface Variable {
  /** Among all variables of a search, from 0. */
  readonly index: number;
  /** All of its classes, as a set of bits. Class 0 is the simplest. */
  readonly all: bigint;
}

/** A statement on classes of variables. A part may occur several times: what is equal is shared, never copied. */
export type Formula = boolean | Atom | Group;

interface Atom {
  readonly kind: 'atom';
  readonly variable: Variable;
  readonly accepts: bigint;
}

interface Group {
  readonly kind: 'and' | 'or';
  readonly parts: readonly Exclude<Formula, boolean>[];
}

/** The statement that a variable has one of some classes. */
export function atom(variable: Variable, accepts: bigint): Formula {
  if (accepts === 0n) return false;
  return accepts === variable.all ? true : { kind: 'atom', variable, accepts };
}

/** The statement that all parts hold. */
export function and(parts: readonly Formula[]): Formula {
  return group('and', parts, false);
}

/** The statement that at least one part holds. */
export function or(parts: readonly Formula[]): Formula {
  return group('or', parts, true);
}

function group(kind: Group['kind'], parts: readonly Formula[], decisive: boolean): Formula {
  const open: Exclude<Formula, boolean>[] = [];
  for (const part of parts) {
    if (part === decisive) return decisive;
    if (typeof part === 'boolean') continue;
    if (part.kind === kind) open.push(...part.parts);
    else open.push(part);
  }
  const [only, ...others] = open;
  if (only === undefined) return !decisive;
  return others.length === 0 ? only : { kind, parts: open };
}

/** The negation of each group, made once: formulas share their parts, so that a copy for each use would explode. */
const negations = new WeakMap<Group, Formula>();

/** The statement that a formula does not hold. */
export function not(formula: Formula): Formula {
  if (typeof formula === 'boolean') return !formula;
  if (formula.kind === 'atom') return atom(formula.variable, formula.variable.all & ~formula.accepts);
  const known = negations.get(formula);
  if (known !== undefined) return known;
  const parts = formula.parts.map(not);
  const negated = formula.kind === 'and' ? or(parts) : and(parts);
  negations.set(formula, negated);
  return negated;
}

/** The statement that `guard` does not hold, or `formula` does. */
export function implies(guard: Formula, formula: Formula): Formula {
  return or([not(guard), formula]);
}

/** Whether a formula holds where each variable has one class, by the variable's index. */
export function holds(formula: Formula, classes: readonly number[]): boolean {
  if (typeof formula === 'boolean') return formula;
  if (formula.kind === 'atom') return ((formula.accepts >> BigInt(classes[formula.variable.index] ?? 0)) & 1n) === 1n;
  const part = (each: Formula): boolean => holds(each, classes);
  return formula.kind === 'and' ? formula.parts.every(part) : formula.parts.some(part);
}

/** All variables of one search. */
export class Variables {
  readonly #domains: { readonly all: bigint; readonly real: bigint }[] = [];

  /** Adds a variable with some classes. Those that `isReal` refuses may stand for nothing that exists. */
  add(classes: number, isReal: (index: number) => boolean = () => true): Variable {
    const all = (1n << BigInt(classes)) - 1n;
    let real = 0n;
    for (let index = 0; index < classes; index += 1) if (isReal(index)) real |= 1n << BigInt(index);
    this.#domains.push({ all, real });
    return { index: this.#domains.length - 1, all };
  }

  /** For each variable the classes that stand for something that exists. */
  get real(): readonly bigint[] {
    return this.#domains.map(({ real }) => real);
  }

  /** For each variable all of its classes. */
  get all(): readonly bigint[] {
    return this.#domains.map(({ all }) => all);
  }
}

/** The simplest class of each set, by the variable's index. */
export function simplest(domains: readonly bigint[]): number[] {
  return domains.map((domain) => {
    let index = 0;
    while (((domain >> BigInt(index)) & 1n) === 0n) index += 1;
    return index;
  });
}

/** The classes, by index, of which something holds. */
export function classSet<Value>(values: readonly Value[], wanted: (value: Value, index: number) => boolean): bigint {
  return values.reduce((set, value, index) => (wanted(value, index) ? set | (1n << BigInt(index)) : set), 0n);
}

/** The budget of a search, in parts of formulas that it looks at: a million take about half a second. */
export interface Budget {
  steps: number;
}

/** The classes that each variable may still have, by its index. */
type Domains = readonly bigint[];

/**
 * Finds classes of variables for which a formula holds: for each variable a set, of which any class will do.
 *
 * It assumes what must hold, drops the classes that this excludes, and looks again at what is left, until nothing
 * changes. Only then it guesses: it takes the shortest choice that is still open, and tries its alternatives.
 *
 * @param domains The classes that each variable may have, by its index.
 * @returns undefined if there are none. That is a proof.
 * @throws {Undecidable} after too many steps.
 */
export function search(formula: Formula, domains: Domains, budget: Budget): Domains | undefined {
  const narrowed = narrow(formula, domains, budget);
  if (narrowed === undefined) return undefined;
  const choice = shortestChoice(narrowed.open);
  if (choice === undefined) return narrowed.domains;
  const others = narrowed.open.filter((each) => each !== choice);
  const excluded: Formula[] = [];
  for (const alternative of choice.parts) {
    const found = search(and([alternative, ...excluded, ...others]), narrowed.domains, budget);
    if (found !== undefined) return found;
    excluded.push(not(alternative));
  }
  return undefined;
}

interface Narrowed {
  readonly domains: Domains;
  /** Choices that are still open. */
  readonly open: readonly Group[];
}

/** Unit propagation: undefined if the formula cannot hold. */
function narrow(formula: Formula, from: Domains, budget: Budget): Narrowed | undefined {
  const domains = [...from];
  let rest = formula;
  for (;;) {
    rest = simplify(rest, domains, new Map(), budget);
    if (rest === false) return undefined;
    const parts = conjuncts(rest);
    const open = parts.filter((part) => part.kind !== 'atom');
    if (open.length === parts.length) return { domains, open };
    for (const part of parts) {
      if (part.kind !== 'atom') continue;
      const { index } = part.variable;
      domains[index] = (domains[index] ?? 0n) & part.accepts;
    }
  }
}

function conjuncts(formula: Formula): readonly Exclude<Formula, boolean>[] {
  if (typeof formula === 'boolean') return [];
  return formula.kind === 'and' ? formula.parts : [formula];
}

function simplify(formula: Formula, domains: Domains, known: Map<Group, Formula>, budget: Budget): Formula {
  if (typeof formula === 'boolean') return formula;
  budget.steps -= 1;
  if (budget.steps < 0) throw new Undecidable('too many combinations');
  if (formula.kind === 'atom') {
    const domain = domains[formula.variable.index] ?? 0n;
    const accepted = domain & formula.accepts;
    if (accepted === 0n) return false;
    return accepted === domain ? true : formula;
  }
  const before = known.get(formula);
  if (before !== undefined) return before;
  const simple = simplifyGroup(formula, domains, known, budget);
  known.set(formula, simple);
  return simple;
}

function simplifyGroup(group: Group, domains: Domains, known: Map<Group, Formula>, budget: Budget): Formula {
  const decisive = group.kind === 'or';
  const parts: Formula[] = [];
  let isSame = true;
  for (const part of group.parts) {
    const simple = simplify(part, domains, known, budget);
    if (simple === decisive) return decisive;
    isSame &&= simple === part;
    parts.push(simple);
  }
  if (isSame) return group;
  return decisive ? or(parts) : and(parts);
}

function shortestChoice(open: readonly Group[]): Group | undefined {
  return open.reduce<Group | undefined>(
    (shortest, each) => (shortest === undefined || each.parts.length < shortest.parts.length ? each : shortest),
    undefined,
  );
}
