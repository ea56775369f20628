/** Random choices. */
export interface Random {
  /** A whole number from 0 up to, but not including, `bound`. */
  below(bound: number): number;
  chance(probability: number): boolean;
  pick<Item>(from: readonly Item[]): Item;
}
