/**
 * @module One judgement of a value by a compiled schema: its budget of steps, the faults that it notes, and what the
 * schemas that hold say of members.
 */

import { ownMember } from '../../core/lib/json/own-member.ts';
import { pointerStep } from '../../core/lib/json/pointer.ts';
import type { Resource } from './schema-document.ts';

/** How many characters of a text are a step; of a text that a pattern matches, for each four tests of a character. */
export const CHARACTERS = 32;
/** The members of an object, or of a schema, that are looked at in one step. */
export const MEMBERS = 4;
/** The most faults that a judgement names. */
export const MAX_FAULTS = 5;
const MAX_POINTER = 128;

/** A fault of a value: where, and the keyword that it does not meet. */
interface ValueFault {
  /** To the missing or unknown member, cut at 128 characters. */
  readonly pointer: string;
  readonly keyword: string;
}

/** The result of a judgement: the first faults; none for a value that is valid. */
export type Faults = readonly ValueFault[];

export class OutOfSteps extends Error {}

/** What one keyword asks of a value. It notes what the schema says of members. */
export type Rule = (judgement: Judgement, value: unknown, pointer: string, named: Named, isTold: boolean) => boolean;

/** A compiled schema. */
export class Node {
  rules: readonly (readonly [keyword: string, rule: Rule])[] = [];
  /** `false` allows nothing. */
  isFalse = false;
  /** Whether it says anything of a value, or a schema does that applies at the same place. */
  says = false;
  /** The schemas that apply at the same place, whatever the value is. */
  readonly inPlace: Node[] = [];
  /** Only in a document with `$dynamicRef`. */
  resource: Resource | undefined;
  isCompiled = false;
}

/** What the schemas that hold at a place say of the members there. */
export class Named {
  says = false;
  /** `const` and `enum`, and members that any schema may name. */
  isWhole = false;
  /** Those of members that are objects or lists have a value. */
  names: Map<string, Named | undefined> | undefined;
  /** How many elements of a list from its beginning were evaluated, and others. */
  items = 0;
  others: Set<number> | undefined;

  /** How many members it names. */
  get size(): number {
    return (this.names?.size ?? 0) + (this.others?.size ?? 0);
  }

  /** Takes over what another one has, which no longer is used. */
  merge(other: Named): void {
    this.says ||= other.says;
    this.isWhole ||= other.isWhole;
    this.items = Math.max(this.items, other.items);
    for (const index of other.others ?? []) this.element(index);
    if (this.names === undefined) this.names = other.names;
    else for (const [key, inner] of other.names ?? []) this.name(key, inner);
  }

  /** Notes that a member is named, and what is said of its value; undefined: it has no members. */
  name(key: string, said: Named | undefined): void {
    this.names ??= new Map();
    const known = this.names.get(key);
    if (known === undefined || said === undefined) this.names.set(key, known ?? said);
    else known.merge(said);
  }

  element(index: number): void {
    this.others ??= new Set();
    this.others.add(index);
  }
}

/** What is said of a value that has no members. It is not read. */
const ofScalar = new Named();

/** One judgement, with its budget. */
export class Judgement {
  readonly faults: ValueFault[] = [];
  #stepsLeft: number;
  /** The dynamic scope, 2020-12 §7.1: the resources of the schemas that led here, the outermost first. */
  readonly #scope = new Set<Resource>();

  constructor(steps: number) {
    this.#stepsLeft = steps;
  }

  spend(steps = 1): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new OutOfSteps();
  }

  /** Counts the members of an object, or of a schema, that are looked at. */
  spendOn(members: number): void {
    this.spend(Math.ceil(members / MEMBERS));
  }

  /** The keys of an object, each of which a rule looks at. */
  keys(object: object): readonly string[] {
    const keys = Object.keys(object);
    this.spendOn(keys.length);
    return keys;
  }

  /** Notes in `named` what another schema that holds at the same place says. */
  merge(named: Named, other: Named): void {
    this.spendOn(other.size);
    named.merge(other);
  }

  fault(pointer: string, keyword: string): false {
    // Half of a surrogate pair is no text that every JSON parser takes.
    const shown = pointer.slice(0, MAX_POINTER).toWellFormed();
    if (this.faults.length < MAX_FAULTS) this.faults.push({ pointer: shown, keyword });
    return false;
  }

  /** A value in one form, by which equal values are found. */
  formOf(value: unknown): string {
    return canonicalForm(value, (steps) => this.spend(steps));
  }

  /** Of these, what belongs to the outermost resource of the dynamic scope. */
  outermost<Value>(of: ReadonlyMap<Resource, Value>): Value | undefined {
    for (const resource of this.#scope) {
      this.spend();
      const found = of.get(resource);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** What a schema names of a value; undefined if it does not hold. @param isTold Whether its faults are noted. */
  judge(node: Node, value: unknown, pointer: string, isTold: boolean): Named | undefined {
    const { resource } = node;
    if (resource === undefined || this.#scope.has(resource)) return this.#judge(node, value, pointer, isTold);
    this.#scope.add(resource);
    const named = this.#judge(node, value, pointer, isTold);
    this.#scope.delete(resource);
    return named;
  }

  #judge(node: Node, value: unknown, pointer: string, isTold: boolean): Named | undefined {
    const hasMembers = typeof value === 'object' && value !== null;
    this.spend(hasMembers ? 2 : 1);
    const named = hasMembers ? new Named() : ofScalar;
    if (node.isFalse) {
      if (isTold) this.fault(pointer, 'false schema');
      return undefined;
    }
    named.says = node.says;
    let holds = true;
    for (const [keyword, rule] of node.rules) {
      const before = this.faults.length;
      if (rule(this, value, pointer, named, isTold)) continue;
      if (isTold && this.faults.length === before) this.fault(pointer, keyword);
      if (!isTold || this.faults.length >= MAX_FAULTS) return undefined;
      holds = false;
    }
    return holds ? named : undefined;
  }

  /** The members of a valid value that no schema names. */
  close(named: Named, value: unknown, pointer = ''): Faults {
    this.#close(named, value, pointer);
    return this.faults;
  }

  #close(named: Named, value: unknown, pointer: string): void {
    this.spend();
    if (typeof value !== 'object' || value === null || !named.says || named.isWhole) return;
    const { names } = named;
    if (!Array.isArray(value)) {
      for (const key of this.keys(value))
        if (names?.has(key) !== true) this.fault(pointerTo(pointer, key), 'unevaluatedProperties');
    }
    for (const [key, inner] of names ?? []) {
      if (inner === undefined) continue;
      if (this.faults.length >= MAX_FAULTS) return;
      this.#close(inner, ownMember(value, key), pointerTo(pointer, key));
    }
  }
}

/** Judges an element of a list. One without members is not noted: an element has no name that could be unknown. */
export function element(
  judgement: Judgement,
  node: Node,
  value: unknown,
  { index, pointer, named, isTold }: { index: number; pointer: string; named: Named; isTold: boolean },
): boolean {
  if (typeof value === 'object' && value !== null)
    return inner(judgement, node, { value, pointer, key: String(index), named, isTold });
  return judgement.judge(node, value, isTold ? pointerTo(pointer, String(index)) : '', isTold) !== undefined;
}

/** Judges an inner value, and notes what is said of it. */
export function inner(
  judgement: Judgement,
  node: Node,
  {
    value,
    pointer,
    key,
    named,
    isTold,
  }: { value: unknown; pointer: string; key: string; named: Named; isTold: boolean },
): boolean {
  const hasMembers = typeof value === 'object' && value !== null;
  // Where no fault is noted, no pointer is needed.
  const found = judgement.judge(node, value, isTold ? pointerTo(pointer, key) : '', isTold);
  named.name(key, hasMembers ? (found ?? new Named()) : undefined);
  return found !== undefined;
}

/** Whether a schema holds, which says what it says at the same place. */
export function holdsInPlace(
  node: Node,
  judgement: Judgement,
  { value, pointer, named, isTold }: { value: unknown; pointer: string; named: Named; isTold: boolean },
): boolean {
  const found = judgement.judge(node, value, pointer, isTold);
  if (found !== undefined) judgement.merge(named, found);
  return found !== undefined;
}

/** The pointer to a member. Faults show no longer ones. */
export function pointerTo(pointer: string, key: string): string {
  return pointer.length > MAX_POINTER ? pointer : pointer + pointerStep(key.slice(0, MAX_POINTER));
}

/** A value in one form: equal values have equal texts. */
export function canonicalForm(value: unknown, spend: (steps: number) => void): string {
  if (typeof value === 'string') {
    spend(1 + Math.floor(value.length / CHARACTERS));
    return JSON.stringify(value);
  }
  spend(1);
  // 0 and -0 are equal.
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((each) => canonicalForm(each, spend)).join(',')}]`;
  const keys = Object.keys(value);
  spend(Math.ceil(keys.length / MEMBERS));
  const members = keys
    .toSorted()
    .map((key) => `${canonicalForm(key, spend)}:${canonicalForm(ownMember(value, key), spend)}`);
  return `{${members.join(',')}}`;
}
