import type { CharSet } from 'refa';

/**
 * A machine that reads a text by characters and says to which class the text belongs. A product of several finds a text
 * for each combination of their classes.
 */
export interface TextMachine<State> {
  /** The sets of characters that it can tell apart. */
  readonly alphabet: readonly CharSet[];
  readonly start: State;
  readonly step: (state: State, character: number) => State;
  /** Names a state: two with one key are equal. */
  readonly key: (state: State) => string;
  /** The class of a text that ends here. */
  readonly classOf: (state: State) => string;
  /** Whether no text that goes on from here is of another class. Default: that is not known. */
  readonly isDead?: (state: State) => boolean;
}

/** A machine whose states are numbers, from 0 for the start. */
export interface TextAutomaton {
  readonly alphabet: readonly CharSet[];
  readonly step: (state: number, character: number) => number;
  readonly classOf: (state: number) => string;
  readonly isDead: (state: number) => boolean;
}

/** Numbers the states of a machine as they are reached. What was computed once is looked up from then on. */
export function numbered<State>(machine: TextMachine<State>): TextAutomaton {
  const { alphabet, start, step, key, classOf, isDead = () => false } = machine;
  const numbers = new Map<string, number>();
  const reached: { readonly state: State; readonly next: Map<number, number>; readonly class: string }[] = [];
  const numberOf = (state: State): number => {
    const own = key(state);
    const known = numbers.get(own);
    if (known !== undefined) return known;
    numbers.set(own, reached.length);
    return reached.push({ state, next: new Map(), class: classOf(state) }) - 1;
  };
  numberOf(start);
  const at = (number: number): (typeof reached)[number] => {
    const found = reached[number];
    if (found === undefined) throw new RangeError(`no state ${number}`);
    return found;
  };
  return {
    alphabet,
    step(number, character) {
      const { state, next } = at(number);
      const known = next.get(character);
      if (known !== undefined) return known;
      const following = numberOf(step(state, character));
      next.set(character, following);
      return following;
    },
    classOf: (number) => at(number).class,
    isDead: (number) => isDead(at(number).state),
  };
}
