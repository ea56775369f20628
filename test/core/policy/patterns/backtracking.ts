import { type AST, RegExpParser } from '@eslint-community/regexpp';

type Continue = (at: number) => boolean;

/**
 * Searches `text` as ECMAScript specifies it, by plain backtracking, and counts the characters that are tested and the
 * times that the end of the pattern is reached. Knows nothing of what an engine optimizes.
 */
export function testsOf(source: string, text: string, most: number): number {
  const { alternatives } = new RegExpParser().parsePattern(source, 0, source.length, { unicode: true });
  const characters = Array.from(text);
  const classes = new Map<string, RegExp>();
  let tests = 0;

  function count(): void {
    tests += 1;
    if (tests > most) throw new RangeError(`more than ${most} tests`);
  }

  function accepts(raw: string, at: number): boolean {
    count();
    const character = characters[at];
    if (character === undefined) return false;
    const expression = classes.get(raw) ?? new RegExp(`^${raw}$`, 'u');
    classes.set(raw, expression);
    return expression.test(character);
  }

  function any(list: readonly AST.Alternative[], at: number, then: Continue): boolean {
    return list.some(({ elements }) => inOrder(elements, at, then));
  }

  function inOrder([first, ...rest]: readonly AST.Element[], at: number, then: Continue): boolean {
    return first === undefined ? then(at) : one(first, at, (next) => inOrder(rest, next, then));
  }

  function one(element: AST.Element, at: number, then: Continue): boolean {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup':
        return any(element.alternatives, at, then);
      case 'Quantifier':
        return repeated(element, 0, at, then);
      case 'Assertion':
        return holds(element, at) && then(at);
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return accepts(element.raw, at) && then(at + 1);
      case 'Backreference':
      case 'ExpressionCharacterClass':
        throw new TypeError(`${element.raw} is not among what is tried`);
    }
  }

  function repeated(quantifier: AST.Quantifier, done: number, at: number, then: Continue): boolean {
    const { min, max, greedy, element } = quantifier;
    const again = (): boolean =>
      done < max && one(element, at, (next) => (next > at || done < min) && repeated(quantifier, done + 1, next, then));
    if (done < min) return again();
    return greedy ? again() || then(at) : then(at) || again();
  }

  function holds(assertion: AST.Assertion, at: number): boolean {
    if (assertion.kind === 'start') return at === 0;
    if (assertion.kind === 'end') return at === characters.length;
    if (assertion.kind !== 'lookahead') throw new TypeError(`${assertion.kind} is not among what is tried`);
    return any(assertion.alternatives, at, () => true) !== assertion.negate;
  }

  const anchored = /^(?:\(\?:)?\^/.test(source);
  for (let start = 0; start <= (anchored ? 0 : characters.length); start += 1) {
    if (any(alternatives, start, () => (count(), true))) break;
  }
  return tests;
}
