import { type Formula, type Group, and, not, or } from './formula.ts';
import { Undecidable } from '../patterns/undecidable.ts';

/** What a search may still do, in parts of formulas that it looks at: a million take about half a second. */
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

/** What must hold besides the domains. */
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

/** What of a formula the domains leave open. */
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
