import { CharBase, CharSet } from 'refa';
import { maxCharacter } from './listed-automaton.ts';
import type { TextAutomaton } from './text-automaton.ts';
import { Undecidable } from './undecidable.ts';

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

/** A text, and the states that it leads to. */
interface Walk {
  readonly text: string;
  readonly states: readonly number[];
}

/** One character of each set that the automata cannot tell apart, those that read best first. */
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
