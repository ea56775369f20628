import { CharBase, CharSet } from 'refa';

/** Why something cannot be decided, in words that name the part, such as `the look-around (?=a)`. */
export class Undecidable extends Error {
  override readonly name = 'Undecidable';
}

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

const maxCharacter = 0x10_ff_ff;

interface ListedState {
  /** Undefined: no listed text begins like that. */
  readonly text: string | undefined;
  readonly isEnded: boolean;
}

/**
 * The automaton that tells each of some texts from every other text.
 *
 * @param ends Characters. It also tells texts apart that go on with one of these after a listed text.
 */
export function listedAutomaton(texts: readonly string[], ends = ''): TextAutomaton {
  const listed = new Set(texts);
  const beginnings = new Set(texts.flatMap(beginningsOf));
  const known = (text: string): string | undefined => (listed.has(text) || beginnings.has(text) ? text : undefined);
  const nameOf = (text: string | undefined): string => (text === undefined ? 'none' : `"${text}`);
  return numbered<ListedState>({
    alphabet: [...new Set([...texts, ends].flatMap((text) => Array.from(text)))].map(characterSet),
    start: { text: known(''), isEnded: false },
    step({ text, isEnded }, code) {
      const character = String.fromCodePoint(code);
      return {
        text: text === undefined ? undefined : known(text + character),
        isEnded: isEnded || (text !== undefined && listed.has(text) && ends.includes(character)),
      };
    },
    key: ({ text, isEnded }) => `${isEnded} ${nameOf(text)}`,
    classOf: ({ text, isEnded }) => `${isEnded} ${nameOf(text !== undefined && listed.has(text) ? text : undefined)}`,
  });
}

function beginningsOf(text: string): readonly string[] {
  return Array.from(text).map((_, index, all) => all.slice(0, index).join(''));
}

function characterSet(character: string): CharSet {
  return CharSet.empty(maxCharacter).union([codePointRange(character)]);
}

function codePointRange(character: string): { readonly min: number; readonly max: number } {
  const code = character.codePointAt(0) ?? 0;
  return { min: code, max: code };
}

/** The comparison of a number that is still being read with another, digit by digit. */
type Order = '<' | '=' | '>';

/** The digits read of an integer: undefined after anything that no integer begins with. */
interface Digits {
  readonly negative: boolean;
  /** Whether there was a digit; zeros in front count for nothing else. */
  readonly some: boolean;
  /** The number of digits without zeros in front, and the comparison with as many digits of each point. */
  readonly length: number;
  readonly orders: readonly Order[];
}

/** No safe integer has more digits. */
const MAX_DIGITS = 17;

/**
 * The automaton that reads integers as predicates with `integer: true` do, and tells apart those below, at and above
 * some points. Texts that are no integers have a class of their own.
 */
export function integerAutomaton(points: readonly number[]): TextAutomaton {
  // Magnitudes: the sign is read first.
  const sizes = [...new Set(points.map((point) => String(Math.abs(point))))];
  return numbered<Digits | undefined>({
    alphabet: Array.from('-0123456789').map(characterSet),
    start: { negative: false, some: false, length: 0, orders: sizes.map(() => '=') },
    step(digits, character) {
      if (digits === undefined) return undefined;
      const isStart = !digits.some && !digits.negative;
      if (character === 0x2d) return isStart ? { ...digits, negative: true } : undefined;
      if (character < 0x30 || character > 0x39) return undefined;
      if (digits.length === 0 && character === 0x30) return { ...digits, some: true };
      return longer(digits, String.fromCodePoint(character), sizes);
    },
    key: (digits) => JSON.stringify(digits) ?? 'none',
    classOf(digits) {
      if (digits?.some !== true) return 'none';
      const orders = digits.orders.map((order, index) => compared(digits, order, sizes[index] ?? ''));
      return `${digits.negative} ${orders.join('')}`;
    },
  });
}

function longer(digits: Digits, digit: string, sizes: readonly string[]): Digits {
  const { length } = digits;
  const orders = digits.orders.map((order, index) => {
    const other = sizes[index]?.[length];
    if (order !== '=' || other === undefined || other === digit) return order;
    return digit < other ? '<' : '>';
  });
  return { ...digits, some: true, length: Math.min(length + 1, MAX_DIGITS), orders };
}

/** A longer number is greater, whatever its digits. */
function compared({ length }: Digits, order: Order, size: string): Order {
  const own = size === '0' ? 0 : size.length;
  if (length !== own) return length < own ? '<' : '>';
  return size === '0' ? '=' : order;
}

/** The limit on steps, over all automata: about a tenth of a second. */
const MAX_STEPS = 200_000;

/** Characters to show, those first that read best. Any other one is shown only where none of these will do. */
const readable = 'xabcdefghijklmnopqrstuvwyz0123456789_-./:ABCDEFGHIJKLMNOPQRSTUVWXYZ @';

/**
 * The shortest text of every set of texts that some automata can tell apart together.
 *
 * It walks the product of the automata, and takes one of all characters that they do not tell apart.
 *
 * @param within Texts that this one tells apart from all that may follow are left out.
 * @throws {Undecidable} if they have too many states together.
 */
export function distinguishedTexts(others: readonly TextAutomaton[], within?: TextAutomaton): readonly string[] {
  const automata = within === undefined ? others : [within, ...others];
  const characters = representatives(automata.flatMap(({ alphabet }) => alphabet));
  const found = new Map<string, string>();
  let open: readonly Walk[] = [{ text: '', states: automata.map(() => 0) }];
  const visited = new Set<string>();
  let left = MAX_STEPS;
  while (open.length > 0) {
    const next: Walk[] = [];
    for (const { text, states } of open) {
      const ends = automata.map(({ classOf }, index) => classOf(states[index] ?? 0)).join('\n');
      if (!found.has(ends)) found.set(ends, text);
      for (const character of characters) {
        // Together they would be one character.
        if (isHighSurrogate(text) && isLowSurrogate(character)) continue;
        left -= automata.length;
        if (left < 0) throw new Undecidable('too many states together with the other conditions on this value');
        const reached = automata.map(({ step }, index) => step(states[index] ?? 0, character));
        if (within?.isDead(reached[0] ?? 0) === true) continue;
        const key = `${isHighSurrogate(String.fromCodePoint(character))} ${reached.join(' ')}`;
        if (visited.has(key)) continue;
        visited.add(key);
        next.push({ text: text + String.fromCodePoint(character), states: reached });
      }
    }
    open = next;
  }
  return [...found.values()];
}

/** A text after which some automata have states. */
export interface EndedText {
  readonly text: string;
  /** What the forms say of it. */
  readonly classes: readonly string[];
  /** The states of the other automata after it. */
  readonly states: readonly number[];
}

/**
 * The shortest text for each way in which a text of some form can end.
 *
 * @param forms They read the text from its begin. The first one says `true` of the texts that are looked for.
 * @param others They go on from some states.
 * @param budget Its steps are characters that are looked at.
 * @throws {Undecidable} if the budget does not suffice.
 */
export function endedTexts(
  forms: readonly TextAutomaton[],
  others: readonly TextAutomaton[],
  from: readonly number[],
  budget: { steps: number },
): readonly EndedText[] {
  const automata = [...forms, ...others];
  const characters = representatives(automata.flatMap(({ alphabet }) => alphabet));
  const found = new Map<string, EndedText>();
  const visited = new Set<string>();
  let open: readonly Walk[] = [{ text: '', states: [...forms.map(() => 0), ...from] }];
  while (open.length > 0) {
    const next: Walk[] = [];
    for (const { text, states } of open) {
      const classes = forms.map(({ classOf }, index) => classOf(states[index] ?? 0));
      if (classes[0] === 'true') {
        const own = states.slice(forms.length);
        const key = `${classes.join('\n')}\n${own.join(' ')}`;
        if (!found.has(key)) found.set(key, { text, classes, states: own });
      }
      for (const character of characters) {
        if ((budget.steps -= 1) < 0) throw new Undecidable('too many texts that patterns tell apart');
        const first = forms[0]?.step(states[0] ?? 0, character) ?? 0;
        if (forms[0]?.isDead(first) === true) continue;
        const reached = automata.map(({ step }, index) => step(states[index] ?? 0, character));
        const key = reached.join(' ');
        if (visited.has(key)) continue;
        visited.add(key);
        next.push({ text: text + String.fromCodePoint(character), states: reached });
      }
    }
    open = next;
  }
  return [...found.values()];
}

interface Walk {
  readonly text: string;
  readonly states: readonly number[];
}

/** A character of each set that the automata cannot tell apart, those that read best first. */
function representatives(alphabet: readonly CharSet[]): readonly number[] {
  const chosen = new CharBase([...alphabet, CharSet.all(maxCharacter)]).sets.map(representative);
  const rank = (character: number): number => {
    const index = readable.indexOf(String.fromCodePoint(character));
    return index === -1 ? readable.length + character : index;
  };
  return chosen.toSorted((one, other) => rank(one) - rank(other));
}

function representative(set: CharSet): number {
  for (const character of readable) {
    const code = character.codePointAt(0) ?? 0;
    if (set.has(code)) return code;
  }
  const visible = set.ranges.find(
    ({ min }) => min > 0x20 && (min < 0x7f || min > 0xa0) && (min < 0xd8_00 || min > 0xdf_ff),
  );
  return (visible ?? set.ranges[0])?.min ?? 0;
}

function isHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd8_00 && last <= 0xdb_ff;
}

function isLowSurrogate(character: number): boolean {
  return character >= 0xdc_00 && character <= 0xdf_ff;
}
