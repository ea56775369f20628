import { CharSet } from 'refa';
import { numbered, type TextAutomaton } from './text-automaton.ts';

/** The greatest code point. */
export const maxCharacter = 0x10_ff_ff;

/** The automaton that tells each of some texts from every other text. */
export function listedAutomaton(texts: readonly string[]): TextAutomaton {
  const listed = new Set(texts);
  const beginnings = new Set(texts.flatMap(beginningsOf));
  const goesOn = (text: string): boolean => listed.has(text) || beginnings.has(text);
  return numbered<string | undefined>({
    alphabet: [...new Set(texts.flatMap((text) => Array.from(text)))].map(characterSet),
    start: goesOn('') ? '' : undefined,
    step(text, character) {
      if (text === undefined) return undefined;
      const longer = text + String.fromCodePoint(character);
      return goesOn(longer) ? longer : undefined;
    },
    key: (text) => (text === undefined ? 'none' : `"${text}`),
    classOf: (text) => (text !== undefined && listed.has(text) ? `"${text}` : 'none'),
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
