import { characterSet } from './listed-automaton.ts';
import { numbered, type TextAutomaton } from './text-automaton.ts';

/** How a number that is still being read compares with another, digit by digit. */
type Order = '<' | '=' | '>';

/** What was read of an integer: undefined after anything that no integer begins with. */
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
