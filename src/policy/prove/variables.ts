import type { Variable } from './formula.ts';

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
