/** What callers and calls differ in: a scope, a lifetime, the value at one place. It has one of a few classes. */
export interface Variable {
  /** Among all variables of a search, from 0. */
  readonly index: number;
  /** All of its classes, as a set of bits. Class 0 is the simplest. */
  readonly all: bigint;
}

/** A statement on classes of variables. A part may occur several times: what is equal is shared, never copied. */
export type Formula = boolean | Atom | Group;

/** Holds if the class of a variable is one of those that are accepted. */
interface Atom {
  readonly kind: 'atom';
  readonly variable: Variable;
  readonly accepts: bigint;
}

/** Holds if all of its parts do, or one. */
export interface Group {
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

/** @param decisive The part that decides the whole. */
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
