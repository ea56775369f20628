/** Why something cannot be decided, in words that name the part, such as `the look-around (?=a)`. */
export class Undecidable extends Error {
  override readonly name = 'Undecidable';
}
