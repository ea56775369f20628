import { CharSet } from 'refa';
import { numbered, type TextAutomaton } from './text-automaton.ts';

/** The greatest code point. */
export const maxCharacter = 0x10_ff_ff;

/** What was read of a text. */
interface Read {
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
  return numbered<Read>({
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

/** All texts with which a text begins, character by character. */
function beginningsOf(text: string): readonly string[] {
  return Array.from(text).map((_, index, all) => all.slice(0, index).join(''));
}

/** The set of one character. */
export function characterSet(character: string): CharSet {
  return CharSet.empty(maxCharacter).union([codePointRange(character)]);
}

function codePointRange(character: string): { readonly min: number; readonly max: number } {
  const code = character.codePointAt(0) ?? 0;
  return { min: code, max: code };
}
